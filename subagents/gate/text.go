package gate

import (
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/errorline"
)

var (
	// What eslint prints of a file: its path, then a line for each error.
	fileHeading = lazyregexp.New(`^\S[^:]*\.[A-Za-z]\w*$`)
	eslintError = "N:N error "
	eslintLine  = lazyregexp.New(`^\s+(\d+:\d+)\s+(error\s+.*?)(?:\s{2,}(\S+))?\s*$`)
	goFailed    = lazyregexp.New(`^FAIL\t(\S.*?)(?:\t\S+| \[(build|setup) failed\])$`)
	// Signs that something could not be built, so that tests did not run, and which did not is not told.
	buildSigns = lazyregexp.New(`^error: could not compile|error TS\d+:|^error\[E\d+\]|compilation terminated|` +
		`: fatal error:|errors? during collection|^go: .*(?:no required module|cannot find module|errors parsing)`)
	// Signs that a test runner did not get to its end.
	cutSigns = lazyregexp.New(`^!+ (?:stopping after|Interrupted|_pytest\.outcomes\.Exit)|^INTERNALERROR>|` +
		`process didn't exit successfully: .*\(signal`)
	// Headings under which test runners print what a failed test said.
	headings = lazyregexp.New(`^---- (.+) stdout ----$|^\s*● .+$`)
	// Where a Rust error is, on the line after it.
	rustPlace = lazyregexp.New(`^\s*--> ([^:]+):\d+:\d+`)
)

// jestTest is a failed test below the heading of its file, runTime how long a file took that was slow.
var (
	jestTest = lazyregexp.New(`^  ● (.+)$`)
	runTime  = lazyregexp.New(` \([\d.]+ m?s\)$`)
)

// sourceFile is the whole of a name that is a file's; notLoaded is how unittest names a module in place of its tests.
var (
	sourceFile = lazyregexp.New(`^[^\s:]+\.[A-Za-z]\w*$`)
	notLoaded  = lazyregexp.New(`^ERROR: \S+ \(unittest\.loader\._FailedTest\.(\S+)\)`)
)

// maxTextLine bounds what is read of one line, in bytes: what is wrong stands at its beginning.
const maxTextLine = 4 << 10

// maxExtension bounds, in bytes, the extension of a source file.
const maxExtension = 8

// after is how many lines that follow an error line are shown with it.
const after = 20

// textParser reads error lines: the format of everything that speaks no other.
type textParser struct {
	names normaliser
	found *findings
	// findings reports whether the lines are those of a compiler or linter.
	findings bool
	left     int
	// rust is an error that waits for its place, rustLine the line of it.
	rust, rustLine string
	// unimportable are the packages whose name keeps go from importing them, unless go passed over them and ran the others.
	unimportable map[string]bool
	// heading is the file that the lines of eslint below it are about.
	heading string
	// before is the line before, tallied how many tests were skipped, as a runner counts them.
	before  string
	tallied int
	surroundings
	loading
	titles
	sections
	documents
	framed framed
}

func newTextParser(names normaliser) *textParser {
	p := &textParser{names: names, found: newFindings(), unimportable: map[string]bool{}}
	p.found.text = true
	return p
}

func (p *textParser) line(from string) {
	for {
		taken, ended, rest := p.document.Add(from)
		if !taken {
			p.plainLine(from)
			return
		}
		if !ended {
			return
		}
		if p.documented(); rest == "" {
			return
		}
		from = rest
	}
}

// plainLine takes a line that is no part of a document.
func (p *textParser) plainLine(from string) {
	if p.beside != nil {
		p.beside(from)
	}
	from = strings.TrimPrefix(plain(text.Head(from, maxTextLine)), "vet: ")
	p.placeRust(from)
	p.frame(from)
	if dot := strings.LastIndexByte(from, '.'); dot > len(from)-maxExtension && fileHeading.MatchString(from) {
		p.heading, p.file = p.names.line(from), from
	}
	p.surroundings.line(p.found, from)
	p.found.cache(from)
	p.found.failed = p.found.failed || goEnded.MatchString(from)
	if p.counts(from) {
		p.count(from)
	}
	p.before = from
	likely := from != "" && from[0] == '!' || strings.HasPrefix(from, "INTERNALERROR") ||
		strings.Contains(from, "exit successfully")
	if likely && cutSigns.MatchString(from) {
		p.found.hide(spec.HiddenAll)
	}
	switch {
	case p.load(from), p.title(from), p.section(from):
	case errorline.Hinted(from):
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
	if buildSigns.MatchString(text) {
		p.found.build = true
		if !p.findings {
			p.found.hide(spec.HiddenAll)
		}
	}
	p.goPackage(text)
	if m := errorline.Malformed.FindStringSubmatch(text); m != nil {
		p.unimportable[m[1]] = true
	}
	if signature := p.signature(text); signature != "" {
		p.left = after
		if strings.HasPrefix(signature, "error[E") || strings.HasPrefix(signature, "error: ") {
			p.rust, p.rustLine = signature, text
		} else {
			p.found.add(signature, p.below(text))
			p.failed(p.found, signature, text)
			if test, ok := strings.CutPrefix(signature, "test: "); ok {
				p.named(test, signature)
			}
		}
	}
	if m := headings.FindStringSubmatch(text); m != nil {
		p.left = after
		if m[1] != "" {
			p.current = "test: " + p.crate + m[1]
		}
	}
}

// below gives a line of eslint the file above it, and one of Maven the form of others.
func (p *textParser) below(line string) string {
	if m := javaError.FindStringSubmatch(line); m != nil {
		return m[1] + ":" + m[2] + ":" + m[3] + ": " + m[4]
	}
	m := eslintLine.FindStringSubmatch(line)
	switch {
	case m == nil || p.file == "":
		return line
	case m[3] == "":
		return p.file + ":" + m[1] + ": " + m[2]
	default:
		return p.file + ":" + m[1] + ": " + m[2] + " (" + m[3] + ")"
	}
}

// test returns the signature of a failed test, and records a suite that takes a test's place because it could not be loaded.
func (p *textParser) test(name string) string {
	if rooted := p.names.rooted(name); rooted != name && sourceFile.MatchString(rooted) || strings.HasSuffix(name, ".py") {
		p.found.unloaded(p.names, "", name)
		return "suite: " + rooted
	}
	return "test: " + p.crate + name
}

// goPackage takes what a line tells about a Go package that failed: without a build its tests are hidden. A package that
// go could not import by its name is passed over, and hides no other; a "go build" stops there and builds nothing.
func (p *textParser) goPackage(text string) {
	m := goFailed.FindStringSubmatch(text)
	if m == nil {
		return
	}
	p.found.runner = true
	switch {
	case m[2] == "" && p.crashed:
		p.found.hide("package: " + m[1])
	case m[2] == "":
	default:
		p.found.build = p.found.build || !p.unimportable[m[1]]
		delete(p.unimportable, m[1])
		p.found.hide("package: " + m[1])
	}
	p.crashed = false
}

// placeRust completes the error before this line with its file.
func (p *textParser) placeRust(text string) {
	if p.rust == "" {
		return
	}
	line := p.rustLine
	if m := rustPlace.FindStringSubmatch(text); m != nil {
		p.rust += " in " + p.names.line(m[1])
		line = strings.TrimLeft(text, " ->") + ": " + line
	}
	p.found.add(p.rust, line)
	p.failed(p.found, p.rust, line)
	p.rust = ""
}

func (p *textParser) signature(text string) string {
	if m := jestTest.FindStringSubmatch(text); m != nil && p.file != "" {
		return "test: " + p.file + ": " + strings.Join(strings.Fields(m[1]), " ")
	}
	switch class, test := errorline.Classify(text); class {
	case errorline.Test:
		return p.test(strings.Join(strings.Fields(test), " "))
	case errorline.Error:
		text = runTime.ReplaceAllLiteralString(text, "")
		signature := strings.TrimPrefix(p.names.line(text), "./")
		if p.heading != "" && strings.HasPrefix(signature, eslintError) {
			signature += " in " + p.heading
		}
		return signature
	default:
		return ""
	}
}

func (p *textParser) end() *findings {
	if p.document.Open() {
		p.documented()
	}
	p.remark()
	p.placeRust("")
	p.unload()
	p.unnamed()
	if p.titles.title {
		p.titled("")
	}
	p.found.build = p.found.build || len(p.unimportable) > 0
	p.found.skipped = max(p.found.skipped, p.tallied)
	if len(p.unimportable) > 0 {
		p.found.hide(spec.HiddenAll)
	}
	return p.found
}
