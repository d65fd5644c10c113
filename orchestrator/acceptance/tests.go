package acceptance

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/acceptance/testsource"
	"divisi/orchestrator/acceptance/testsource/gosource"
	"divisi/subagents/mutant"
)

var kindNames = [testsource.Kinds]string{
	"fewer tests", "fewer cases", "fewer assertions", "fewer assertions of an exact value", "more skips",
	"more ways out of a test before its assertions", "more stubs of the tested code", "more files with tests that never run",
	"more tests that assert nothing",
}

// sides are the counts before and after.
type sides [2]testsource.Counts

func (s *sides) worse(kind int) bool {
	more := s[1][kind] - s[0][kind]
	return more < 0 && kind <= testsource.Exact || more > 0 && kind > testsource.Exact
}

// maxTests bounds both sides of a file of tests together, in bytes: reading one can take the square of its size.
const maxTests = 512 << 10

// compare compares the tests of the patch.
func (p *Patch) compare() {
	p.weaker, p.edited, p.differ, p.pairs = nil, nil, map[string]bool{}, maxPairs
	own := make([][]Change, testsource.Languages)
	for _, f := range p.files {
		i := f.language
		if i < 0 && path.Ext(f.Path) == ".go" && !testsource.IsApart(f.Path) &&
			(bytes.Contains(f.Before, []byte(`"testing"`)) || bytes.Contains(f.After, []byte(`"testing"`))) {
			i = testsource.Go // helpers of tests
		}
		switch {
		case i < 0:
		case f.Unread != "":
			p.weaker = append(p.weaker, at(f.Path, 0, "its tests were not compared: %s", f.Unread))
		case len(f.Before)+len(f.After) > maxTests:
			p.weaker = append(p.weaker, at(f.Path, 0, "its tests were not compared: both sides are larger than %d KiB",
				maxTests>>10))
		case f.Before == nil || f.After == nil || !bytes.Equal(f.Before, f.After):
			own[i] = append(own[i], f.Change)
		}
	}
	for i, changes := range own {
		weaker, edited := len(p.weaker), len(p.edited)
		switch {
		case len(changes) == 0:
		case i == testsource.Go:
			p.compareGo(changes)
		default:
			before, after := filesOf(changes)
			p.weigh(testsource.Read(i, before), testsource.Read(i, after))
		}
		open(p.weaker[weaker:], compared[i])
		open(p.edited[edited:], compared[i])
	}
}

// compared are the languages whose tests an experiment can compare.
var compared = map[int]bool{testsource.Go: true, testsource.Script: true, testsource.Python: true}

// form is how the patch changes tests and their data; "" where it changes none.
func (p *Patch) form() string {
	var lost, gained []string
	for _, f := range p.files {
		if f.language >= 0 && compared[f.language] || mutant.IsData(f.Path) {
			for _, l := range f.lost {
				lost = append(lost, l.text)
			}
			for _, l := range f.gained {
				gained = append(gained, l.text)
			}
		}
	}
	return mutant.FormOf(lost, gained)
}

// unspoken are lines that say nothing of what a test does.
var unspoken = re(`^(?://|#|import |from |\)$|"[\w./~-]+"$)`)

// suspects are the files with tests in which something differs that no rename of the code explains, and those with data of tests
// that lose some.
func (p *Patch) suspects() (paths []string) {
	speaks := func(l line) bool { return !unspoken.MatchString(l.text) }
	code := slices.ContainsFunc(p.files, func(f *file) bool { return f.language < 0 && f.changed() })
	names := p.renames()
	for _, f := range p.files {
		named := len(f.lost)+len(f.gained) > 0 && (code && p.renamed(f) || f.renamedBy(names)) // else lines move, or into a block
		if f.language >= 0 && compared[f.language] && f.Before != nil && f.After != nil && !named &&
			(p.differ[f.Path] || slices.ContainsFunc(f.lost, speaks)) {
			paths = append(paths, f.Path)
		}
		if f.Before != nil && len(f.lost) > 0 && mutant.IsData(f.Path) {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// open marks the findings that an experiment can answer: what tests assert less, and with other values; and where tests or rows
// are fewer, those whose values others have. Any other one that is gone stays a question: a change of the code that it alone
// would find may not be among those that are tried.
func open(found []Finding, compared bool) {
	for i := range found {
		found[i].Open = compared && found[i].Path != "" && (found[i].Open || !slices.Contains(gone, found[i].Kind))
	}
}

// gone are the kinds of the findings that no experiment answers, but for what others keep.
var gone = []string{
	kindNames[testsource.Tests], kindNames[testsource.Cases], kindNames[testsource.Skips], kindNames[testsource.Exits],
	kindNames[testsource.Off], kindNames[testsource.Silent],
}

// filesOf are both sides of some changes.
func filesOf(changes []Change) (before, after []testsource.File) {
	for _, c := range changes {
		before = append(before, testsource.File{Path: c.Path, Content: c.Before})
		after = append(after, testsource.File{Path: c.Path, Content: c.After})
	}
	return before, after
}

// compareGo compares the tests of Go files. Those that come from another file to one that builds leave out are gone.
func (p *Patch) compareGo(changes []Change) {
	var hidden []testsource.Unit
	changes = slices.DeleteFunc(changes, func(c Change) bool {
		left := gosource.LeftOut(c.Path, c.Before, c.After)
		if left && c.Before != nil {
			hidden = append(hidden, testsource.Unit{Path: c.Path, Counts: testsource.Counts{testsource.Off: 1}})
		}
		return left && c.Before == nil
	})
	before, after := filesOf(changes)
	p.weigh(gosource.Read(before), append(gosource.Read(after), hidden...))
}

// maxEvidence bounds the findings of one kind.
const maxEvidence = 10

// tally is what is worse, by file and kind: the numbers of the tests in which it is, and their names.
type tally map[worse]*worseIn

type worse struct {
	kind int
	path string
}

type worseIn struct {
	counts sides
	names  []string
	// gone reports whether a value of the tests is in no test any more.
	gone bool
}

// add adds what belongs together where it is, or was.
func (t tally) add(k kin, kind int, c sides, gone bool) {
	u := append(k[1], k[0]...)[0]
	w := worse{kind, u.Path}
	if t[w] == nil {
		t[w] = &worseIn{}
	}
	for side := range c {
		t[w].counts[side].Add(c[side])
	}
	t[w].gone = t[w].gone || gone
	if u.Test {
		t[w].names = append(t[w].names, u.Name)
	}
}

func (t tally) findings() (out []Finding) {
	for kind, finding := range kindNames {
		n, first := 0, len(out)
		for _, w := range slices.SortedFunc(maps.Keys(t), func(a, b worse) int { return strings.Compare(a.path, b.path) }) {
			if w.kind != kind {
				continue
			}
			if n++; n <= maxEvidence {
				in := ""
				if names := t[w].names; len(names) > 0 {
					in = ": " + text.Some(names, maxNamed)
				}
				c := t[w].counts
				f := at(w.path, 0, "%s, %d before and %d after%s", finding, c[0][kind], c[1][kind], in)
				f.Open = kind <= testsource.Cases && !t[w].gone
				out = append(out, f)
			}
		}
		if more := n - maxEvidence; more > 0 {
			out = append(out, at("", 0, "%s in %d more files", finding, more))
		}
		if kind == testsource.Exact { // an assertion, whatever it expects
			finding = kindNames[testsource.Assertions]
		}
		for i := range out[first:] {
			out[first+i].Kind = finding
		}
	}
	return out
}

func byName(units []testsource.Unit) map[string]testsource.Unit {
	out := map[string]testsource.Unit{}
	for _, u := range units {
		if had, ok := out[u.Key()]; ok {
			u.Counts.Add(had.Counts)
			u.Literals, u.Says, u.Text = append(had.Literals, u.Literals...), append(had.Says, u.Says...), had.Text+u.Text
		}
		out[u.Key()] = u
	}
	return out
}
