package gate

import (
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
)

// maxBlock bounds, in bytes, what is kept of the report of suites that could not be loaded.
const maxBlock = 16 << 10

var (
	// Where a report of suites that could not be loaded begins, with their files: those of jest (the file was named before it),
	// pytest, vitest; and of a whole run that ended before its first test: mocha, and a conftest of pytest.
	jestSuite    = lazyregexp.New(`^\s*● Test suite failed to run$`)
	pytestSuite  = lazyregexp.New(`^_+ ERROR collecting (\S.*?) _+$`)
	vitestSuite  = lazyregexp.New(`^ FAIL  (\S.*?) \[ (\S.*?) \]$`)
	nothingRan   = lazyregexp.New(`^\s*Exception during run: ?(.*)$|^ImportError while loading conftest `)
	endOfLoading = lazyregexp.New(`^ ?(?:FAIL|PASS) |^(?:Test Suites|Tests): |^[_=]{3,}|^⎯{3,}|^\s*● |^no tests ran|^!{3,} `)
)

// loading is a report of suites that could not be loaded, which is being read.
type loading struct {
	open   bool
	suites []string
	block  strings.Builder
}

// load takes a line of such a report, and reports whether it is one.
func (p *textParser) load(line string) bool {
	if p.open && (endOfLoading.MatchString(line) && (p.block.Len() > 0 || !vitestSuite.MatchString(line))) {
		p.unload()
	}
	suite, begins := "", false
	switch {
	case strings.Contains(line, "failed to run"):
		suite, begins = p.file, jestSuite.MatchString(line)
	case strings.Contains(line, "ERROR collecting "):
		if m := pytestSuite.FindStringSubmatch(line); m != nil {
			suite, begins = m[1], true
		}
	case strings.HasPrefix(line, " FAIL  "):
		if m := vitestSuite.FindStringSubmatch(line); m != nil {
			suite, begins = m[1], true
		}
	case strings.Contains(line, "._FailedTest."):
		if m := notLoaded.FindStringSubmatch(line); m != nil {
			suite, begins = m[1], true
		}
	case strings.Contains(line, "Exception during run:"), strings.HasPrefix(line, "ImportError while loading"):
		if m := nothingRan.FindStringSubmatch(line); m != nil {
			p.found.hide(spec.HiddenAll)
			p.block.WriteString(m[1] + "\n")
			begins = true
		}
	}
	if begins {
		p.open, p.left = true, after
		p.found.runner = true
		if suite != "" {
			p.suites = append(p.suites, suite)
		}
		return true
	}
	if p.open && p.block.Len() < maxBlock {
		p.block.WriteString(line + "\n")
	}
	return p.open
}

// unload ends such a report.
func (p *textParser) unload() {
	if !p.open {
		return
	}
	p.found.unloaded(p.names, p.block.String(), p.suites...)
	p.loading = loading{}
}

var (
	mochaFailing = lazyregexp.New(`^\s*\d+ failing$`)
	mochaTitle   = lazyregexp.New(`^  (\d+)\) (\S.*)$`)
	mochaHook    = lazyregexp.New(`^"(?:before|after) (?:all|each)" hook\b`)
)

// titles is the list of failed tests that mocha prints at its end: the title of each has a line for each suite.
type titles struct {
	// failing reports whether the list has begun, title whether a title has not ended; parts are its lines.
	failing, title bool
	parts          []string
}

// title takes a line of that list, and reports whether it is one.
func (p *textParser) title(line string) bool {
	if !p.failing {
		p.failing = mochaFailing.MatchString(line)
		return false
	}
	m := mochaTitle.FindStringSubmatch(line)
	switch {
	case m != nil:
		p.titles = titles{failing: true, title: true}
		p.titled(m[2])
	case strings.TrimSpace(line) == "" && p.titles.title:
		p.titled("")
	case p.titles.title:
		p.titled(strings.TrimSpace(line))
	}
	return true
}

// titled adds a line to a title. It ends with a colon, and is the full title of the test, as other reporters of mocha print it.
func (p *textParser) titled(part string) {
	name, ended := strings.CutSuffix(part, ":")
	if name != "" {
		p.parts = append(p.parts, name)
	}
	if !ended && part != "" || len(p.parts) == 0 {
		return
	}
	p.current = "test: " + strings.Join(p.parts, " ")
	p.left = after
	p.found.add(p.current)
	p.found.hook(p.parts[len(p.parts)-1], strings.Join(p.parts[:len(p.parts)-1], " "))
	p.titles = titles{failing: true}
}

// hook records that the other tests of a suite did not run, where what failed is a hook of mocha's.
func (f *findings) hook(name, suite string) {
	if mochaHook.MatchString(name) {
		f.hide(suite)
	}
}
