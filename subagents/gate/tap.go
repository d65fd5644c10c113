package gate

import (
	"strconv"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
)

var (
	tapResult  = lazyregexp.New(`^( *)(not )?ok\b(?: +\d+)?(?: *-)? *(.*?)(?: *# *(?i:(todo|skip)\S*) *(.*))?$`)
	tapSubtest = lazyregexp.New(`^( *)# Subtest: (.*)$`)
	tapTime    = lazyregexp.New(` # time=\S+$`)
	tapBegins  = lazyregexp.New(`^(?:TAP version \d|1\.\.\d+(?: *#.*)?$|(?:not )?ok \d+(?: |$))`)
	tapPlan    = lazyregexp.New(`^( *)1\.\.(\d+)`)
)

// sniffer reads error lines until the output reports that it is TAP: by its version, by its plan, or by a result with a number.
type sniffer struct {
	tap *tapParser
	on  bool
}

func (s *sniffer) line(text string) {
	if s.on = s.on || tapBegins.MatchString(plain(text)); s.on {
		s.tap.line(text)
		return
	}
	s.tap.text.line(text)
}

func (s *sniffer) end() *findings { return s.tap.end() }

// tapParser reads the Test Anything Protocol, versions 12 to 14, with nested tests.
type tapParser struct {
	text        *textParser
	found       *findings
	parents     []string
	failedBelow map[string]bool
	// inner are the tests that have had a test in them: suites, which are no tests themselves.
	inner   map[string]bool
	planned int
	seen    int
	// failing is the test whose report follows; "" for none.
	failing string
	// notes are the comments since the last result: what a file printed that could not be loaded.
	notes strings.Builder
}

func newTAPParser(text *textParser) *tapParser {
	return &tapParser{text: text, found: newFindings(), failedBelow: map[string]bool{}, inner: map[string]bool{}}
}

func (p *tapParser) line(text string) {
	p.text.line(text)
	text = plain(text)
	if m := tapSubtest.FindStringSubmatch(text); m != nil {
		depth := min(len(m[1])/4, len(p.parents))
		p.parents = append(p.parents[:depth], strings.TrimSpace(m[2]))
		p.failing = ""
		return
	}
	if m := tapPlan.FindStringSubmatch(text); m != nil && m[1] == "" {
		p.planned, _ = strconv.Atoi(m[2]) // digits only; a number too large for an int counts as no plan
		p.found.runner = true
		return
	}
	if strings.HasPrefix(text, "Bail out!") {
		p.found.hide(spec.HiddenAll)
		p.found.add("bail out: "+p.text.names.line(strings.TrimPrefix(text, "Bail out!")), text)
		p.found.show(text)
		return
	}
	if m := tapResult.FindStringSubmatch(text); m != nil {
		p.result(len(m[1])/4, m[2] != "", m[3], strings.ToLower(m[4]), m[5], text)
		p.notes.Reset()
		return
	}
	if note, ok := strings.CutPrefix(text, "# "); ok && p.notes.Len() < maxBlock {
		p.notes.WriteString(note + "\n")
	}
	if p.failing != "" {
		p.found.show(text)
		p.found.say(p.failing, text)
	}
}

func (p *tapParser) result(depth int, failed bool, name, directive, why, text string) {
	if depth == 0 {
		p.seen++
	}
	p.failing = ""
	depth = min(depth, len(p.parents))
	name = strings.TrimSpace(tapTime.ReplaceAllLiteralString(name, ""))
	rooted := p.text.names.rooted(name)
	if depth == 0 && sourceFile.MatchString(rooted) && (failed && directive == "" || rooted != name) {
		// A file in the place of its tests: it has none, or could not be loaded. node gives its whole path.
		p.found.runner = true
		if failed {
			p.found.unloaded(p.text.names, p.notes.String(), name)
			p.failing = "suite: " + rooted
			p.found.show(text + "\n" + p.notes.String())
		}
		return
	}
	path := strings.Join(append(append([]string{}, p.parents[:depth]...), name), " > ")
	if directive == "skip" {
		p.found.skip("", p.text.names.test(path), why)
	} else if !p.inner[path] {
		p.found.count(!failed || directive != "")
	}
	if directive == "" && !failed && !p.inner[path] {
		p.found.ran.Pass("", p.text.names.test(path))
	}
	if p.found.runner = true; depth > 0 {
		p.inner[strings.Join(p.parents[:depth], " > ")] = true
	}
	if !failed || directive != "" {
		return
	}
	for i := range depth {
		p.failedBelow[strings.Join(p.parents[:i+1], " > ")] = true
	}
	if p.failedBelow[path] {
		return // it fails because of what is in it
	}
	p.failing = "test: " + path
	p.found.add(p.failing, text)
	if at := strings.Index(name, ` "before `); at >= 0 { // mocha gives full titles
		p.found.hook(name[at+1:], name[:at])
	} else if at := strings.Index(name, ` "after `); at >= 0 {
		p.found.hook(name[at+1:], name[:at])
	}
	p.found.show(text)
}

func (p *tapParser) end() *findings {
	if p.seen > 0 && p.seen < p.planned {
		p.found.add("plan: fewer tests ran than were planned")
		if len(p.found.hidden) == 0 {
			p.found.hide(spec.HiddenAll)
		}
	}
	p.found.adopt(p.text.end())
	return p.found
}
