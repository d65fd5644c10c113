package gate

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	tapResult  = regexp.MustCompile(`^( *)(not )?ok\b(?: +\d+)?(?: *-)? *(.*?)(?: *# *(?i:(todo|skip)\S*).*)?$`)
	tapSubtest = regexp.MustCompile(`^( *)# Subtest: (.*)$`)
	tapPlan    = regexp.MustCompile(`^( *)1\.\.(\d+)`)
)

// sniffer reads error lines until the output says that it is TAP: test runners that write it unasked say so first.
type sniffer struct {
	tap *tapParser
	on  bool
}

func (s *sniffer) line(text string) {
	if s.on = s.on || strings.HasPrefix(text, "TAP version "); s.on {
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
	planned     int
	seen        int
	// failing is the test whose report follows; "" for none.
	failing string
}

func newTAPParser(text *textParser) *tapParser {
	return &tapParser{text: text, found: newFindings(), failedBelow: map[string]bool{}}
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
		return
	}
	if strings.HasPrefix(text, "Bail out!") {
		p.found.add("bail out: "+p.text.names.line(strings.TrimPrefix(text, "Bail out!")), text)
		p.found.show(text)
		return
	}
	if m := tapResult.FindStringSubmatch(text); m != nil {
		p.result(len(m[1])/4, m[2] != "", m[3], strings.ToLower(m[4]), text)
		return
	}
	if p.failing != "" {
		p.found.show(text)
		p.found.say(p.failing, text)
	}
}

func (p *tapParser) result(depth int, failed bool, name, directive, text string) {
	if depth == 0 {
		p.seen++
	}
	p.failing = ""
	depth = min(depth, len(p.parents))
	path := strings.Join(append(append([]string{}, p.parents[:depth]...), strings.TrimSpace(name)), " > ")
	if directive != "skip" {
		p.found.tests++
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
	p.found.show(text)
}

func (p *tapParser) end() *findings {
	if p.seen > 0 && p.seen < p.planned {
		p.found.add("plan: fewer tests ran than were planned")
	}
	p.found.adopt(p.text.end())
	return p.found
}
