package acceptance

import (
	"bytes"
	"maps"
	"path"
	"slices"

	"divisi/internal/text"
)

// What is counted of tests: cases are rows of tables and subtests. Of assertions, certain are those under no condition, sized
// those of a part, a size or a truth of a value, exact those of the whole value. Exits lead out of a test without an assertion,
// stubs replace what a test calls, own are expected values that what is tested computes, off is a file that builds leave out, or
// whose tests never run. From skips on more is worse.
const (
	tests = iota
	cases
	assertions
	certain
	sized
	exact
	skips
	exits
	stubs
	own
	off
	kinds
)

// Not weighed: assertions that there is no error, and what makes them needless: errors that are no longer returned, awaits.
// once are all assertions as if each table had one row.
const (
	errorless = kinds + iota
	awaits
	returned
	once
	counted
)

// counts are what one test, one file, or all files of a language, have of each kind.
type counts [counted]int

var kindNames = [kinds]string{
	"fewer tests", "fewer cases", "fewer assertions", "fewer assertions that always run", "fewer assertions of a value",
	"fewer assertions of an exact value", "more skips", "more ways out of a test before its assertions",
	"more stubs of what is tested", "more expected values that the tested code computes", "more files whose tests never run",
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
	// text is the source of a test, says its assertions.
	text string
	says []said
}

// said is an assertion, how much it says, and the values in it.
type said struct {
	text     string
	says     strength
	literals []literal
}

// key is the text without blanks.
func (s said) key() string { return space.ReplaceAllString(s.text, "") }

// literal is a value that an assertion compares: n a number, s a string, b a truth, o a line of an example's output. Of t, a
// tolerance, more is weaker.
type literal struct {
	value
	path string
	line int
	// present reports that it is the 0 of > 0: any number above says more.
	present bool
	// beside is the line or the assertion that it is in.
	beside string
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

// maxTests bounds both sides of a file of tests together, in bytes: reading one can take the square of its size.
const maxTests = 512 << 10

// compare compares the tests of the patch.
func (p *Patch) compare() {
	p.weaker, p.edited, p.pairs = nil, nil, maxPairs
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
		case len(f.Before)+len(f.After) > maxTests:
			p.weaker = append(p.weaker, at(f.Path, 0, "its tests were not compared: both sides are larger than %d KiB", maxTests>>10))
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
			p.compareText(&languages[i], changes)
		}
	}
}

// compareText compares the tests of files of a language without a parser.
func (p *Patch) compareText(l *language, changes []Change) {
	var before, after []unit
	tables := [2]map[string]int{{}, {}}
	for _, c := range changes {
		maps.Copy(tables[0], tablesOf(string(c.Before)))
		maps.Copy(tables[1], tablesOf(string(c.After)))
	}
	for _, c := range changes {
		before = append(before, l.units(c.Path, c.Before, tables[0])...)
		after = append(after, l.units(c.Path, c.After, tables[1])...)
	}
	p.weigh(before, after)
}

// maxEvidence bounds the findings of one kind.
const maxEvidence = 10

// weaker returns for the files of one language what is worse in them and in all of them together. Tests that became rows of a
// table, or that were merged, are not fewer.
func weaker(all sides, files map[string]*sides, merged bool) (out []Finding) {
	for kind, finding := range kindNames {
		if !all.worse(kind) || kind == tests && !all.worse(cases) || kind <= cases && merged ||
			kind == certain && all.worse(assertions) || kind == sized && all.worse(exact) {
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
			u.literals = append(had.literals, u.literals...)
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
