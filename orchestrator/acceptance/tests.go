package acceptance

import (
	"bytes"
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
			p.weaker = append(p.weaker, at(f.Path, 0, "its tests were not compared: %s", f.Unread))
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
	p.expected(old, fresh, missing)
}

// maxEvidence bounds the findings of one kind.
const maxEvidence = 10

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
				worse = append(worse, at(path, 0, "%s, %d before and %d after", finding, f[0][kind], f[1][kind]))
			}
		}
		out = append(out, worse[:min(len(worse), maxEvidence)]...)
		if more := len(worse) - maxEvidence; more > 0 {
			out = append(out, at("", 0, "%s in %d more files", finding, more))
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

// expected finds tests that assert nothing, and asserted something before or came where a test is missing, and compares what each
// test expects. Tests that are gone and new ones are compared together: they may have moved, and as many new ones may assert
// nothing as of the gone ones did.
func (p *Patch) expected(old, fresh map[string]unit, missing bool) {
	var gone, come []literal
	idle := 0
	for key, b := range old {
		if _, has := fresh[key]; b.test && !has && b.counts[assertions] == 0 {
			idle++
		}
	}
	keys := slices.AppendSeq(slices.Collect(maps.Keys(old)), maps.Keys(fresh))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		b, had := old[key]
		a, has := fresh[key]
		switch {
		case !a.test || a.counts[assertions] > 0:
		case !had && missing && idle > 0:
			idle--
		case had && b.counts[assertions] > 0, !had && missing:
			p.weaker = append(p.weaker, at(a.path, a.line, "%s asserts nothing any more", a.name))
		}
		if had && has {
			p.changed(b.literals, a.literals)
		} else {
			gone, come = append(gone, b.literals...), append(come, a.literals...)
		}
	}
	p.changed(gone, come)
}

// changed pairs values that are gone with new ones of their kind, and finds those that nothing explains.
func (p *Patch) changed(before, after []literal) {
	lost, gained := difference(before, after, func(l literal) value { return l.value })
	var open []literal
	for _, g := range gained {
		fits := func(l literal) bool { return l.kind == g.kind && p.explained(l.text, g.text) }
		if i := slices.IndexFunc(lost, fits); i >= 0 {
			lost = slices.Delete(lost, i, i+1)
		} else {
			open = append(open, g)
		}
	}
	for _, g := range open {
		if i := slices.IndexFunc(lost, func(l literal) bool { return l.kind == g.kind }); i >= 0 {
			p.edited = append(p.edited, at(g.path, g.line, "a test expects %s in place of %s", g.value, lost[i].value))
			lost = slices.Delete(lost, i, i+1)
		}
	}
}
