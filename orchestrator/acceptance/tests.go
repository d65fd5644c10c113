package acceptance

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"divisi/internal/text"
)

// What is counted of tests: cases are rows of tables and subtests, exact are assertions of one value, exits lead out of a test
// without an assertion, empty are tests without an assertion, off is a file that builds leave out, or whose tests never run.
const (
	tests = iota
	cases
	assertions
	exact
	skips
	exits
	empty
	off
	kinds
)

// counts are what one test, one file, or all files of a language, have of each kind.
type counts [kinds]int

var kindNames = [kinds]string{
	"fewer tests", "fewer cases", "fewer assertions", "fewer assertions of an exact value", "more skips",
	"more ways out of a test before its assertions", "more tests that assert nothing", "more files whose tests never run",
}

func (c *counts) add(o counts) {
	for kind, n := range o {
		c[kind] += n
	}
}

// unit is one test or one helper, with what it expects.
type unit struct {
	path, name string
	line       int
	test       bool
	counts     counts
	literals   []literal
}

// literal is a value that an assertion compares: n a number, s a string, b a truth, o a line of an example's output.
type literal struct {
	kind  byte
	value string
	line  int
}

// pair is a changed file with its counts.
type pair struct {
	path          string
	before, after counts
}

func (p pair) worse(kind int) bool {
	more := p.after[kind] - p.before[kind]
	switch kind {
	case tests, cases, assertions, exact:
		return more < 0
	case empty: // a new test may only run something
		return more > max(0, p.after[tests]-p.before[tests])
	}
	return more > 0
}

// testsOf returns what a patch takes away from tests. The patch counts as a whole, for each language: tests may move between
// files.
func testsOf(p *Patch) []Finding { return p.compared().weaker }

// expectations returns the values that a patch changes in assertions, where no rename and no word of the brief explains them.
func expectations(p *Patch) []Finding { return p.compared().edited }

// comparison is what was found in tests.
type comparison struct{ weaker, edited []Finding }

// compared compares the tests of the patch, once.
func (p *Patch) compared() *comparison {
	if p.tests != nil {
		return p.tests
	}
	p.tests = &comparison{}
	own := make([][]Change, len(languages))
	for _, c := range p.Changes {
		i := languageOf(c.Path)
		tests := bytes.Contains(c.Before, []byte(`"testing"`)) || bytes.Contains(c.After, []byte(`"testing"`))
		if i < 0 && tests && path.Ext(c.Path) == ".go" && !apart.MatchString(c.Path) {
			i = 0 // helpers of tests
		}
		switch {
		case i < 0, c.Before != nil && c.After != nil && bytes.Equal(c.Before, c.After):
		case c.Unread != "":
			p.tests.weaker = append(p.tests.weaker, Finding{Path: c.Path, Text: "its tests were not compared: " + c.Unread})
		default:
			own[i] = append(own[i], c)
		}
	}
	for i, changes := range own {
		if len(changes) > 0 {
			p.compare(&languages[i], changes)
		}
	}
	return p.tests
}

// compare compares the tests of one language. Of Go first only functions that differ: they do not show all helpers.
func (p *Patch) compare(l *language, changes []Change) {
	if l.test != nil {
		var before, after []unit
		for _, c := range changes {
			before, after = append(before, l.units(c.Path, c.Before)...), append(after, l.units(c.Path, c.After)...)
		}
		p.weigh(changes, before, after)
		return
	}
	had := *p.tests
	for _, whole := range []bool{false, true} {
		*p.tests = had
		b, a := goFiles(changes, whole)
		before, read := goUnits(b)
		after, readToo := goUnits(a)
		p.weigh(changes, before, after)
		if read && readToo && len(p.tests.weaker)+len(p.tests.edited) == len(had.weaker)+len(had.edited) {
			return
		}
	}
}

// weigh compares the units of both sides: by their number, each test with itself, and what they expect.
func (p *Patch) weigh(changes []Change, before, after []unit) {
	at := map[string]int{}
	pairs := make([]pair, len(changes))
	gone := map[string]bool{}
	for i, c := range changes {
		at[c.Path], pairs[i].path = i, c.Path
		if path.Ext(c.Path) == ".go" {
			var lost bool
			if lost, gone[c.Path] = leftOut(c); lost {
				pairs[i].after[off]++
			}
		}
	}
	after = slices.DeleteFunc(after, func(u unit) bool { return gone[u.path] })
	for _, u := range before {
		pairs[at[u.path]].before.add(u.counts)
	}
	for _, u := range after {
		pairs[at[u.path]].after.add(u.counts)
	}
	old, fresh := byName(before), byName(after)
	excuse(old, fresh, func(u unit) *counts { return &pairs[at[u.path]].after })
	var all pair
	for _, f := range pairs {
		all.before.add(f.before)
		all.after.add(f.after)
	}
	p.tests.weaker = append(p.tests.weaker, weaker(all, pairs)...)
	if !all.worse(empty) {
		p.tests.weaker = append(p.tests.weaker, emptied(old, fresh)...)
	}
	p.expected(old, fresh)
}

// weaker returns for the files of one language what is worse in them and in all of them together. Tests that became rows of a
// table are not fewer.
func weaker(all pair, files []pair) (out []Finding) {
	for kind, finding := range kindNames {
		if !all.worse(kind) || kind == tests && !all.worse(cases) {
			continue
		}
		worse := slices.DeleteFunc(slices.Clone(files), func(f pair) bool { return !f.worse(kind) })
		for _, f := range worse[:min(len(worse), maxEvidence)] {
			counted := fmt.Sprintf("%s, %d before and %d after", finding, f.before[kind], f.after[kind])
			out = append(out, Finding{Path: f.path, Text: counted})
		}
		if more := len(worse) - maxEvidence; more > 0 {
			out = append(out, Finding{Text: fmt.Sprintf("%s in %d more files", finding, more)})
		}
	}
	return out
}

// excuse takes the skips and exits of new tests out of what a file has, where no test is gone that could have got another name.
func excuse(old, fresh map[string]unit, of func(unit) *counts) {
	for key, b := range old {
		if _, ok := fresh[key]; b.test && !ok {
			return
		}
	}
	for key, a := range fresh {
		if _, ok := old[key]; ok {
			continue
		}
		c := of(a)
		c[exits] -= a.counts[exits]
		if a.test {
			c[skips] -= a.counts[skips]
		}
	}
}

// byName joins the units of one directory and name: suites have methods of the same name.
func byName(units []unit) map[string]unit {
	out := map[string]unit{}
	for _, u := range units {
		key := path.Dir(u.path) + "\x00" + u.name
		if had, ok := out[key]; ok {
			u.counts.add(had.counts)
			u.literals = append(had.literals[:len(had.literals):len(had.literals)], u.literals...)
		}
		out[key] = u
	}
	return out
}

// emptied returns the tests that asserted something and no longer do.
func emptied(old, fresh map[string]unit) (out []Finding) {
	for key, b := range old {
		if a, ok := fresh[key]; ok && b.test && a.test && b.counts[assertions] > 0 && a.counts[assertions] == 0 {
			out = append(out, Finding{Path: a.path, Line: a.line, Text: a.name + " asserts nothing any more"})
		}
	}
	sortFindings(out)
	return out
}

func sortFindings(list []Finding) {
	slices.SortFunc(list, func(a, b Finding) int { return strings.Compare(a.String(), b.String()) })
}

// expected compares what each test expects with what it expected. Tests that are gone and new ones are compared together: they
// may have moved.
func (p *Patch) expected(old, fresh map[string]unit) {
	var gone, come, found []Finding
	collect := func(list []literal, of unit) (out []Finding) {
		for _, l := range list {
			out = append(out, Finding{Check: string(l.kind), Path: of.path, Line: l.line, Text: l.value})
		}
		return out
	}
	for key, b := range old {
		a, ok := fresh[key]
		if !ok {
			gone = append(gone, collect(b.literals, b)...)
			continue
		}
		lost, gained := difference(collect(b.literals, b), collect(a.literals, a))
		found = append(found, p.changed(lost, gained)...)
	}
	for key, a := range fresh {
		if _, ok := old[key]; !ok {
			come = append(come, collect(a.literals, a)...)
		}
	}
	slices.SortFunc(gone, byPlace)
	slices.SortFunc(come, byPlace)
	found = append(found, p.changed(difference(gone, come))...)
	sortFindings(found)
	p.tests.edited = append(p.tests.edited, found...)
}

func byPlace(a, b Finding) int {
	if c := strings.Compare(a.Path, b.Path); c != 0 {
		return c
	}
	return a.Line - b.Line
}

// difference returns the values that only one side has.
func difference(before, after []Finding) (lost, gained []Finding) {
	left := map[string]int{}
	for _, b := range before {
		left[b.Check+b.Text]++
	}
	for _, a := range after {
		if left[a.Check+a.Text]--; left[a.Check+a.Text] < 0 {
			gained = append(gained, a)
		}
	}
	for _, b := range before {
		if left[b.Check+b.Text] > 0 {
			left[b.Check+b.Text]--
			lost = append(lost, b)
		}
	}
	return lost, gained
}

// changed pairs values that are gone with new ones of their kind, and returns what nothing explains.
func (p *Patch) changed(lost, gained []Finding) (out []Finding) {
	lost = slices.Clone(lost)
	take := func(of Finding, fits func(Finding) bool) (Finding, bool) {
		i := slices.IndexFunc(lost, func(l Finding) bool { return l.Check == of.Check && fits(l) })
		if i < 0 {
			return Finding{}, false
		}
		l := lost[i]
		lost = slices.Delete(lost, i, i+1)
		return l, true
	}
	gained = slices.DeleteFunc(slices.Clone(gained), func(g Finding) bool {
		_, ok := take(g, func(l Finding) bool { return p.explained(l.Text, g.Text) })
		return ok
	})
	for _, g := range gained {
		if l, ok := take(g, func(Finding) bool { return true }); ok {
			text := fmt.Sprintf("a test expects %s in place of %s", g.value(), l.value())
			out = append(out, Finding{Path: g.Path, Line: g.Line, Text: text})
		}
	}
	return out
}

// value shows a value of a test.
func (f Finding) value() string {
	if f.Check == "s" || f.Check == "o" {
		return text.Quote(text.Short(f.Text, 60))
	}
	return text.Short(f.Text, 60)
}
