package acceptance

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"

	"divisi/internal/text"
)

// What is counted of tests: cases are rows of tables and subtests, exact are assertions of one value, exits lead out of a test
// without an assertion, off is a file that builds leave out, or whose tests never run. The last three are worse when they grow.
const (
	tests = iota
	cases
	assertions
	exact
	skips
	exits
	off
	kinds
)

// counts are what one test, one file, or all files of a language, have of each kind.
type counts [kinds]int

var kindNames = [kinds]string{
	"fewer tests", "fewer cases", "fewer assertions", "fewer assertions of an exact value", "more skips",
	"more ways out of a test before its assertions", "more files whose tests never run",
}

func (c *counts) add(o counts) {
	for kind, n := range o {
		c[kind] += n
	}
}

// sides are the counts before and after.
type sides [2]counts

func (s *sides) worse(kind int) bool {
	more := s[1][kind] - s[0][kind]
	return more < 0 && kind <= exact || more > 0 && kind > exact
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
	value
	path string
	line int
}

type value struct {
	kind byte
	text string
}

// String shows a value of a test.
func (v value) String() string {
	if v.kind == 's' || v.kind == 'o' {
		return text.Quote(text.Short(v.text, 60))
	}
	return text.Short(v.text, 60)
}

// testsOf returns what a patch takes away from tests. The patch counts as a whole, for each language: tests may move between
// files.
func testsOf(p *Patch) []Finding { return p.weaker }

// expectations returns the values that a patch changes in assertions, where no rename and no word of the brief explains them.
func expectations(p *Patch) []Finding { return p.edited }

// compare compares the tests of the patch.
func (p *Patch) compare() {
	p.weaker, p.edited = nil, nil
	own := make([][]Change, len(languages))
	for _, f := range p.files {
		i := f.language
		if i < 0 && path.Ext(f.Path) == ".go" && !apart.MatchString(f.Path) &&
			(bytes.Contains(f.Before, []byte(`"testing"`)) || bytes.Contains(f.After, []byte(`"testing"`))) {
			i = 0 // helpers of tests
		}
		switch {
		case i < 0:
		case f.Unread != "":
			p.weaker = append(p.weaker, Finding{Path: f.Path, Text: "its tests were not compared: " + f.Unread})
		case f.Before == nil || f.After == nil || !bytes.Equal(f.Before, f.After):
			own[i] = append(own[i], f.Change)
		}
	}
	for i, changes := range own {
		switch {
		case len(changes) == 0:
		case i == 0:
			p.compareGo(changes)
		default:
			var before, after []unit
			for _, c := range changes {
				before = append(before, languages[i].units(c.Path, c.Before)...)
				after = append(after, languages[i].units(c.Path, c.After)...)
			}
			p.weigh(before, after)
		}
	}
}

// weigh compares the units of both sides: by their number, each test with itself, and what they expect.
func (p *Patch) weigh(before, after []unit) {
	old, fresh := byName(before), byName(after)
	missing := slices.ContainsFunc(before, func(u unit) bool { _, ok := fresh[u.key()]; return u.test && !ok })
	var all sides
	files := map[string]*sides{}
	count := func(side int, u unit, c counts) {
		if files[u.path] == nil {
			files[u.path] = &sides{}
		}
		files[u.path][side].add(c)
		all[side].add(c)
	}
	for _, u := range before {
		count(0, u, u.counts)
	}
	for _, u := range after {
		c := u.counts
		if _, ok := old[u.key()]; !ok && !missing { // a new test, not one that got another name
			c[exits] = 0
			if u.test {
				c[skips] = 0
			}
		}
		count(1, u, c)
	}
	p.weaker = append(p.weaker, weaker(all, files)...)
	p.weaker = append(p.weaker, emptied(old, fresh, missing)...)
	p.expected(old, fresh)
}

// weaker returns for the files of one language what is worse in them and in all of them together. Tests that became rows of a
// table are not fewer.
func weaker(all sides, files map[string]*sides) (out []Finding) {
	for kind, finding := range kindNames {
		if !all.worse(kind) || kind == tests && !all.worse(cases) {
			continue
		}
		var worse []Finding
		for _, path := range slices.Sorted(maps.Keys(files)) {
			if f := files[path]; f.worse(kind) {
				worse = append(worse, Finding{Path: path, Text: fmt.Sprintf("%s, %d before and %d after", finding, f[0][kind], f[1][kind])})
			}
		}
		out = append(out, worse[:min(len(worse), maxEvidence)]...)
		if more := len(worse) - maxEvidence; more > 0 {
			out = append(out, Finding{Text: fmt.Sprintf("%s in %d more files", finding, more)})
		}
	}
	return out
}

// key joins the units of one directory and name: files move, and suites have methods of the same name.
func (u unit) key() string { return path.Dir(u.path) + "\x00" + u.name }

func byName(units []unit) map[string]unit {
	out := map[string]unit{}
	for _, u := range units {
		if had, ok := out[u.key()]; ok {
			u.counts.add(had.counts)
			u.literals = slices.Concat(had.literals, u.literals)
		}
		out[u.key()] = u
	}
	return out
}

// emptied returns the tests that assert nothing, and asserted something before or came where another test went.
func emptied(old, fresh map[string]unit, missing bool) (out []Finding) {
	for _, key := range slices.Sorted(maps.Keys(fresh)) {
		a := fresh[key]
		b, ok := old[key]
		if a.test && a.counts[assertions] == 0 && (ok && b.counts[assertions] > 0 || !ok && missing) {
			out = append(out, Finding{Path: a.path, Line: a.line, Text: a.name + " asserts nothing any more"})
		}
	}
	return out
}

// expected compares what each test expects with what it expected. Tests that are gone and new ones are compared together: they
// may have moved.
func (p *Patch) expected(old, fresh map[string]unit) {
	var gone, come []literal
	for _, key := range slices.Sorted(maps.Keys(old)) {
		if a, ok := fresh[key]; ok {
			p.changed(old[key].literals, a.literals)
		} else {
			gone = append(gone, old[key].literals...)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(fresh)) {
		if _, ok := old[key]; !ok {
			come = append(come, fresh[key].literals...)
		}
	}
	p.changed(gone, come)
}

// changed pairs values that are gone with new ones of their kind, and finds those that nothing explains.
func (p *Patch) changed(before, after []literal) {
	lost, gained := difference(before, after, func(l literal) value { return l.value })
	take := func(g literal, fits func(l literal) bool) (l literal, ok bool) {
		i := slices.IndexFunc(lost, func(l literal) bool { return l.kind == g.kind && fits(l) })
		if i < 0 {
			return l, false
		}
		l = lost[i]
		lost = slices.Delete(lost, i, i+1)
		return l, true
	}
	gained = slices.DeleteFunc(gained, func(g literal) bool {
		_, ok := take(g, func(l literal) bool { return p.explained(l.text, g.text) })
		return ok
	})
	for _, g := range gained {
		if l, ok := take(g, func(literal) bool { return true }); ok {
			p.edited = append(p.edited, Finding{
				Path: g.path, Line: g.line, Text: fmt.Sprintf("a test expects %s in place of %s", g.value, l.value),
			})
		}
	}
}
