package gate

import (
	"regexp"
	"strconv"
	"strings"

	"divisi/internal/text"
	"divisi/subagents/errorline"
)

var (
	// What eslint prints of a file: its path, then a line for each error.
	fileHeading = regexp.MustCompile(`^\S[^:]*\.[A-Za-z]\w*$`)
	eslintError = "N:N error "
	setupFail   = regexp.MustCompile(`^FAIL\t(.+) \[setup failed\]$`)
	// Signs that something could not be built, so that its tests did not run.
	buildSigns = regexp.MustCompile(`\[(?:build|setup) failed\]|^error: could not compile|error TS\d+:|^error\[E\d+\]|` +
		`compilation terminated|: fatal error:|errors? during collection|` +
		`^go: .*(?:no required module|cannot find module|errors parsing)`)
	// Headings under which test runners print what a failed test said.
	headings = regexp.MustCompile(`^---- (.+) stdout ----$|^_{3,} .+ _{3,}$|^\s*● .+$`)
	// How many tests ran.
	counts = regexp.MustCompile(`\b(\d+) (?:passed|failed)\b|^(?:ℹ|#) (?:pass|fail) (\d+)$`)
	// Where a Rust error is, on the line after it.
	rustPlace = regexp.MustCompile(`^\s*--> ([^:]+):\d+:\d+`)
)

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
	// always reports whether the command only builds.
	always bool
	left   int
	// rust is an error that waits for its place.
	rust string
	// unimportable are the packages whose name keeps go from importing them, unless go passed over them and ran the others.
	unimportable map[string]bool
	// heading is the file that the lines of eslint below it are about.
	heading string
	surroundings
}

func newTextParser(names normaliser, buildCommand bool) *textParser {
	return &textParser{names: names, found: newFindings(), always: buildCommand, unimportable: map[string]bool{}}
}

func (p *textParser) line(from string) {
	from = strings.TrimPrefix(plain(text.Head(from, maxTextLine)), "vet: ")
	p.placeRust(from)
	if dot := strings.LastIndexByte(from, '.'); dot > len(from)-maxExtension && fileHeading.MatchString(from) {
		p.heading, p.file = p.names.line(from), from
	}
	p.surroundings.line(p.found, from)
	if errorline.Hinted(from) {
		p.read(from)
	}
	if p.left > 0 {
		p.left--
		p.found.show(from)
		p.found.say(p.current, from)
	}
}

// read takes from a line what it reports.
func (p *textParser) read(text string) {
	if buildSigns.MatchString(text) && !p.passedOver(text) {
		p.found.build = true
	}
	if m := errorline.Malformed.FindStringSubmatch(text); m != nil {
		p.unimportable[m[1]] = true
	}
	p.count(text)
	if signature := p.signature(text); signature != "" {
		p.left = after
		if strings.HasPrefix(signature, "error[E") {
			p.rust = signature
		} else {
			p.found.add(signature, text)
			p.failed(p.found, signature, text)
		}
	}
	if m := headings.FindStringSubmatch(text); m != nil {
		p.left = after
		if m[1] != "" {
			p.current = "test: " + m[1]
		}
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

// placeRust completes the error before this line with its file.
func (p *textParser) placeRust(text string) {
	if p.rust == "" {
		return
	}
	if m := rustPlace.FindStringSubmatch(text); m != nil {
		p.rust += " in " + p.names.line(m[1])
	}
	p.found.add(p.rust, text)
	p.current, p.rust = p.rust, ""
}

func (p *textParser) signature(text string) string {
	switch class, test := errorline.Classify(text); class {
	case errorline.Test:
		return "test: " + strings.Join(strings.Fields(test), " ")
	case errorline.Error:
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
