package gate

import (
	"regexp"
	"strconv"
	"strings"
)

// What follows is known from compilers, linters and test runners; every pattern sees a line without terminal codes.
var (
	// Test runners that name the test that failed: the name is the signature.
	failedTests = []*regexp.Regexp{
		regexp.MustCompile(`^\s*--- FAIL: (\S+)`),                                  // go test
		regexp.MustCompile(`^(?:FAILED|ERROR) (\S.*?::.+?)(?: - .*)?$`),            // pytest
		regexp.MustCompile(`^ERROR (\S.*?\.py)(?: - .*)?$`),                        // pytest, a file that cannot be collected
		regexp.MustCompile(`^test (\S.*?) \.\.\. FAILED$`),                         // cargo
		regexp.MustCompile(`^\s*(?:✕|✖|✗|×) (.+?)(?: \(?\d+(?:\.\d+)? ?m?s\)?)?$`), // jest, vitest, node
		regexp.MustCompile(`^\s*not ok \d+ (?:- )?(.+)$`),                          // TAP
		regexp.MustCompile(`^\s*● (.+ › .+)$`),                                     // jest
	}
	// Lines that say what is wrong.
	errorLines = []*regexp.Regexp{
		// A file and a line; a directory can have spaces in its name, and a tool can quote the whole.
		regexp.MustCompile(`^(?:[^\s:()]*|[^\s:()][^:()]*/[^:()]*)\.[A-Za-z][A-Za-z0-9]*"?` +
			`(?::\d+(?::\d+)?:|\(\d+(?:,\d+)?\):) ?\S`),
		malformed,
		regexp.MustCompile(`^FAIL\s+\S+`),
		regexp.MustCompile(`(?i)^\s*(?:error|fatal|fatal error|panic)(?:\[\w+\])?:`),
		regexp.MustCompile(`(?i): (?:fatal )?error(?: \w+)?: `),
		regexp.MustCompile(`^(?:E\s+)?(?:\w+\.)*\w*(?:Error|Exception)\b(?::|$)`),
		regexp.MustCompile(`^go: `),
		regexp.MustCompile(`^\s+\d+:\d+\s+error\s`), // eslint
	}
	// What the go command prints of a package that it cannot import, because of a character in its directory's name.
	malformed = regexp.MustCompile(`^malformed import path "(.+)": invalid char `)
	// What eslint prints of a file: its path, then a line for each error.
	fileHeading = regexp.MustCompile(`^\S[^:]*\.[A-Za-z]\w*$`)
	eslintError = "N:N error "
	setupFail   = regexp.MustCompile(`^FAIL\t(.+) \[setup failed\]$`)
	// Lines that come with any failure: as a signature they would let a new failure hide behind an old one.
	noise = regexp.MustCompile(`(?i)^(?:make(?:\[\d+\])?: \*\*\*|npm (?:ERR!|error)|` +
		`go: (?:downloading|finding|extracting|warning)|error: (?:test failed, to rerun|could not compile|` +
		`aborting due to|process completed|command failed|script ".*" exited)|` +
		`error: process didn't exit|exit status|✖ \d+ problems|✖ failing tests:|.*: warning:|.*: note:|FAIL$|` +
		`.*# *(?:todo|skip)\b)`)
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

// interesting passes most lines of a long output over before a pattern has to look at them. Every pattern above needs one of
// the hints, or a number after a colon or a bracket.
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
	for _, pattern := range failedTests {
		if m := pattern.FindStringSubmatch(text); m != nil && !noise.MatchString(text) {
			return "test: " + strings.Join(strings.Fields(m[1]), " ")
		}
	}
	if noise.MatchString(text) {
		return ""
	}
	for _, pattern := range errorLines {
		if pattern.MatchString(text) {
			signature := strings.TrimPrefix(p.names.line(text), "./")
			if p.heading != "" && strings.HasPrefix(signature, eslintError) {
				signature += " in " + p.heading
			}
			return signature
		}
	}
	return ""
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
