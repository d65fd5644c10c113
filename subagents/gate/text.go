package gate

import (
	"regexp"
	"strconv"
	"strings"
)

// lineClass is what a line of a gate's output is.
type lineClass int

const (
	plainLine lineClass = iota
	// noiseLine comes with any failure: as a signature it would let a new failure hide behind an old one.
	noiseLine
	// testLine names a test that failed: the name is the signature.
	testLine
	// errorLine states an error: the line is the signature.
	errorLine
	// complaint is a line with a word that tells of an error. It becomes no signature.
	complaint
)

// lineClasses are known from compilers, linters and test runners: the first pattern that matches decides. Every pattern
// sees a line without terminal codes. All but complaints need one of the hints, or a number after a colon or a bracket.
var lineClasses = []struct {
	class   lineClass
	pattern *regexp.Regexp
}{
	{noiseLine, regexp.MustCompile(`(?i)^(?:make(?:\[\d+\])?: \*\*\*|npm (?:ERR!|error)|` +
		`go: (?:downloading|finding|extracting|warning)|error: (?:test failed, to rerun|could not compile|` +
		`aborting due to|process completed|command failed|script ".*" exited)|` +
		`error: process didn't exit|exit status|✖ \d+ problems|✖ failing tests:|.*: warning:|.*: note:|FAIL$|` +
		`.*# *(?:todo|skip)\b)`)},
	{testLine, regexp.MustCompile(`^\s*--- FAIL: (\S+)`)},                                  // go test
	{testLine, regexp.MustCompile(`^(?:FAILED|ERROR) (\S.*?::.+?)(?: - .*)?$`)},            // pytest
	{testLine, regexp.MustCompile(`^ERROR (\S.*?\.py)(?: - .*)?$`)},                        // pytest, a broken file
	{testLine, regexp.MustCompile(`^test (\S.*?) \.\.\. FAILED$`)},                         // cargo
	{testLine, regexp.MustCompile(`^\s*(?:✕|✖|✗|×) (.+?)(?: \(?\d+(?:\.\d+)? ?m?s\)?)?$`)}, // jest, vitest, node
	{testLine, regexp.MustCompile(`^\s*not ok \d+ (?:- )?(.+)$`)},                          // TAP
	{testLine, regexp.MustCompile(`^\s*● (.+ › .+)$`)},                                     // jest
	// A file and a line; a directory can have spaces in its name, and a tool can quote the whole.
	{errorLine, regexp.MustCompile(`^(?:[^\s:()]*|[^\s:()][^:()]*/[^:()]*)\.[A-Za-z][A-Za-z0-9]*"?` +
		`(?::\d+(?::\d+)?:|\(\d+(?:,\d+)?\):) ?\S`)},
	{errorLine, malformed},
	{errorLine, regexp.MustCompile(`^FAIL\s+\S+`)},
	{errorLine, regexp.MustCompile(`(?i)^\s*(?:error|fatal|fatal error|panic)(?:\[\w+\])?:`)},
	{errorLine, regexp.MustCompile(`(?i): (?:fatal )?error(?: \w+)?: `)},
	{errorLine, regexp.MustCompile(`^(?:E\s+)?(?:\w+\.)*\w*(?:Error|Exception)\b(?::|$)`)},
	{errorLine, regexp.MustCompile(`^go: `)},
	{errorLine, regexp.MustCompile(`^\s+\d+:\d+\s+error\s`)}, // eslint
	{complaint, regexp.MustCompile(`(?i)\b(?:error|err!|failed|failure|cannot|can't|could not|couldn't|unable to|not found|` +
		`no such|denied|refused|timed out)`)},
}

// classify returns the class of a line, and the test that a testLine names.
func classify(line string) (class lineClass, test string) {
	for _, c := range lineClasses {
		if m := c.pattern.FindStringSubmatch(line); m != nil {
			return c.class, m[len(m)-1]
		}
	}
	return plainLine, ""
}

var (
	// What the go command prints of a package that it cannot import, because of a character in its directory's name.
	malformed = regexp.MustCompile(`^malformed import path "(.+)": invalid char `)
	// What eslint prints of a file: its path, then a line for each error.
	fileHeading = regexp.MustCompile(`^\S[^:]*\.[A-Za-z]\w*$`)
	eslintError = "N:N error "
	setupFail   = regexp.MustCompile(`^FAIL\t(.+) \[setup failed\]$`)
	// Signs that something could not be built, so that its tests did not run.
	buildSigns = regexp.MustCompile(`\[(?:build|setup) failed\]|^error: could not compile|error TS\d+:|^error\[E\d+\]|` +
		`compilation terminated|: fatal error:|errors? during collection|` +
		`^go: .*(?:no required module|cannot find module|errors parsing)`)
	// Headings under which test runners print what a failed test said.
	headings = regexp.MustCompile(`^---- .+ stdout ----$|^_{3,} .+ _{3,}$|^\s*● .+$`)
	// How many tests ran.
	counts = regexp.MustCompile(`\b(\d+) (?:passed|failed)\b|^(?:ℹ|#) (?:pass|fail) (\d+)$`)
	// Where a Rust error is, on the line after it.
	rustPlace = regexp.MustCompile(`^\s*--> ([^:]+):\d+:\d+`)
)

// hints are in lower case.
var hints = []string{
	"error", "fail", "panic", "fatal", "exception", "not ok", "go: ", "pass", "terminated", "stdout ----", "___", "malformed",
	"✕", "✖", "✗", "×", "●",
}

// maxTextLine bounds what is read of one line, in bytes: what is wrong stands at its beginning.
const maxTextLine = 4 << 10

// maxExtension bounds, in bytes, the extension of a source file.
const maxExtension = 8

// after is how many lines that follow an error line are shown with it.
const after = 12

// textParser reads error lines: the format of everything that speaks no other.
type textParser struct {
	names normaliser
	found *findings
	// always says that the command only builds.
	always bool
	left   int
	// rust is an error that waits for its place.
	rust string
	// unimportable are the packages whose name keeps go from importing them, unless go passed over them and ran the others.
	unimportable map[string]bool
	// heading is the file that the lines of eslint below it are about.
	heading string
}

func newTextParser(names normaliser, buildCommand bool) *textParser {
	return &textParser{names: names, found: newFindings(), always: buildCommand, unimportable: map[string]bool{}}
}

func (p *textParser) line(text string) {
	text = strings.TrimPrefix(plain(clip(text, maxTextLine)), "vet: ")
	p.placeRust(text)
	if dot := strings.LastIndexByte(text, '.'); dot > len(text)-maxExtension && fileHeading.MatchString(text) {
		p.heading = p.names.line(text)
	}
	if interesting(text) {
		p.read(text)
	}
	if p.left > 0 {
		p.left--
		p.found.show(text)
	}
}

// read looks at a line that may say something.
func (p *textParser) read(text string) {
	if buildSigns.MatchString(text) && !p.passedOver(text) {
		p.found.build = true
	}
	if m := malformed.FindStringSubmatch(text); m != nil {
		p.unimportable[m[1]] = true
	}
	p.count(text)
	if signature := p.signature(text); signature != "" {
		p.left = after
		if strings.HasPrefix(signature, "error[E") {
			p.rust = signature
		} else {
			p.found.add(signature)
		}
	}
	if headings.MatchString(text) {
		p.left = after
	}
}

// passedOver reports whether a line tells that go could not import a package, and ran the others: nothing else is hidden then. A
// "go build" stops there and builds nothing.
func (p *textParser) passedOver(text string) bool {
	m := setupFail.FindStringSubmatch(text)
	if m == nil || !p.unimportable[m[1]] {
		return false
	}
	delete(p.unimportable, m[1])
	return true
}

// interesting passes most lines of a long output over before a pattern has to match them.
func interesting(text string) bool {
	lower := strings.ToLower(text)
	for _, hint := range hints {
		if strings.Contains(lower, hint) {
			return true
		}
	}
	for i := 1; i < len(text); i++ {
		if (text[i-1] == ':' || text[i-1] == '(') && text[i] >= '0' && text[i] <= '9' {
			return true
		}
	}
	return false
}

// placeRust completes the error before this line with its file.
func (p *textParser) placeRust(text string) {
	if p.rust == "" {
		return
	}
	if m := rustPlace.FindStringSubmatch(text); m != nil {
		p.rust += " in " + p.names.line(m[1])
	}
	p.found.add(p.rust)
	p.rust = ""
}

func (p *textParser) signature(text string) string {
	switch class, test := classify(text); class {
	case testLine:
		return "test: " + strings.Join(strings.Fields(test), " ")
	case errorLine:
		signature := strings.TrimPrefix(p.names.line(text), "./")
		if p.heading != "" && strings.HasPrefix(signature, eslintError) {
			signature += " in " + p.heading
		}
		return signature
	default:
		return ""
	}
}

// count adds up the summaries of pytest, cargo and jest ("3 failed, 5 passed").
func (p *textParser) count(text string) {
	if strings.HasPrefix(text, "Test Suites:") {
		return
	}
	for _, m := range counts.FindAllStringSubmatch(text, -1) {
		if n, err := strconv.Atoi(m[1] + m[2]); err == nil && n < 1<<24 {
			p.found.tests += n
		}
	}
}

func (p *textParser) end() *findings {
	p.placeRust("")
	p.found.build = p.found.build || len(p.unimportable) > 0 || p.always && len(p.found.signatures) > 0
	return p.found
}
