package gate

import (
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/text"
)

// maxSections bounds the tests whose reports wait for the line that names them.
const maxSections = 2000

var (
	// What is below belongs to one test: vitest and unittest name it, pytest gives the end of its name.
	vitestTest   = lazyregexp.New(`^ FAIL  (\S.*?\.\w+) > (.+)$`)
	unittestTest = lazyregexp.New(`^(?:FAIL|ERROR): (\S+ \(\S+\))(?: .*)?$`)
	pytestTest   = lazyregexp.New(`^_+ (?:ERROR at (?:setup|teardown) of )?(\S.*?) _+$`)
	sectionEnd   = lazyregexp.New(`^={3,}|^⎯{3,}|^-{70}$|^\s*Test Files `)
)

// sections are the reports failed tests: the errors in them are those of the test.
type sections struct {
	// inside reports whether the line is in a report.
	inside bool
	// pytest is the title of the report of pytest that is being read; reports has those whose test was not named yet.
	pytest  string
	reports map[string]*window
}

// section takes a line of a report, and reports whether it is one.
func (p *textParser) section(line string) bool {
	switch {
	case strings.HasPrefix(line, " FAIL  "):
		if m := vitestTest.FindStringSubmatch(line); m != nil {
			p.file = m[1]
			p.reported("test: " + strings.Join(strings.Fields(m[2]), " "))
			return true
		}
	case strings.HasPrefix(line, "FAIL: "), strings.HasPrefix(line, "ERROR: "):
		if m := unittestTest.FindStringSubmatch(line); m != nil {
			p.reported(p.test(m[1]))
			return true
		}
	case strings.HasPrefix(line, "_"):
		if m := pytestTest.FindStringSubmatch(line); m != nil && len(p.reports) < maxSections {
			if p.reports == nil {
				p.reports = map[string]*window{}
			}
			p.inside, p.pytest, p.left = true, m[1], after
			p.reports[m[1]] = &window{limit: maxRunning}
			return true
		}
	}
	if p.inside && sectionEnd.MatchString(line) && (p.pytest != "" || !strings.HasPrefix(line, "-")) {
		p.inside, p.pytest = false, ""
	}
	if p.inside {
		p.found.say(p.current, line)
		if report := p.reports[p.pytest]; report != nil {
			report.add(line + "\n")
			p.current = ""
		}
	}
	return p.inside
}

// reported begins the report of a test.
func (p *textParser) reported(signature string) {
	p.inside, p.pytest, p.current, p.left = true, "", signature, after
	p.found.add(signature)
	p.found.own(signature, p.file)
}

// named gives a test that pytest names the report that came before.
func (p *textParser) named(test, signature string) {
	parts := strings.Split(test, "::")
	title := strings.Join(parts[1:], ".")
	if report := p.reports[title]; report != nil {
		p.found.say(signature, text.Head(report.String(), maxRunning))
		p.found.own(signature, parts[0])
		delete(p.reports, title)
	}
}

// unnamed makes failures of the reports whose tests were never named.
func (p *textParser) unnamed() {
	for title, report := range p.reports {
		p.found.add("test: "+title, report.String())
	}
}
