package acceptance

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"

	"divisi/orchestrator/acceptance/testsource"
	"divisi/orchestrator/acceptance/testsource/gosource"
)

var kindNames = [testsource.Kinds]string{
	"fewer tests", "fewer cases", "fewer assertions", "fewer assertions that always run", "fewer assertions of a value",
	"fewer assertions of an exact value", "more skips", "more ways out of a test before its assertions",
	"more stubs of the tested code", "more expected values that the tested code computes", "more files with tests that never run",
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
		if compared[i] {
			open(p.weaker[weaker:])
			open(p.edited[edited:])
		}
	}
}

// compared are the languages whose tests an experiment can compare.
var compared = map[int]bool{testsource.Go: true, testsource.Script: true, testsource.Python: true}

// unspoken are lines that say nothing of what a test does.
var unspoken = re(`^(?://|#|import |from |\)$|"[\w./~-]+"$)`)

// suspects are the files with tests in which something differs that no rename explains.
func (p *Patch) suspects() (paths []string) {
	speaks := func(l line) bool { return !unspoken.MatchString(l.text) }
	names := p.renames()
	for _, f := range p.files {
		if f.language >= 0 && compared[f.language] && f.Before != nil && f.After != nil && !p.renamed(f) && !f.renamedBy(names) &&
			(p.differ[f.Path] || slices.ContainsFunc(f.lost, speaks)) {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// open marks the findings that an experiment can answer: what tests assert less, and with other values. That a test, a row or a
// run of it is gone stays a question: a change of the code that it alone would find may not be among those that are tried.
func open(found []Finding) {
	for i := range found {
		found[i].Open = found[i].Path != "" && !slices.ContainsFunc(gone, func(words string) bool {
			return strings.HasPrefix(found[i].Text, words) || strings.HasSuffix(found[i].Text, words)
		})
	}
}

// gone are words of the findings that no experiment answers.
var gone = []string{
	kindNames[testsource.Tests], kindNames[testsource.Cases], kindNames[testsource.Skips], kindNames[testsource.Exits],
	kindNames[testsource.Off], silent,
}

// silent ends the finding that a test has no assertion left.
const silent = "asserts nothing any more"

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

// weaker returns for the files of one language what is worse in them and in all of them together. Tests that became rows of a
// table, or that were merged, are not fewer.
func weaker(all sides, files map[string]*sides, merged bool) (out []Finding) {
	for kind, finding := range kindNames {
		if !all.worse(kind) || kind == testsource.Tests && !all.worse(testsource.Cases) || kind <= testsource.Cases && merged ||
			kind == testsource.Certain && all.worse(testsource.Assertions) ||
			kind == testsource.Sized && all.worse(testsource.Exact) {
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

func byName(units []testsource.Unit) map[string]testsource.Unit {
	out := map[string]testsource.Unit{}
	for _, u := range units {
		if had, ok := out[u.Key()]; ok {
			u.Counts.Add(had.Counts)
			u.Literals = append(had.Literals, u.Literals...)
		}
		out[u.Key()] = u
	}
	return out
}

// expected finds tests that assert nothing, and asserted something before or came where a test is missing, and compares what each
// test expects. Tests that are gone and new ones are compared together: they may have moved, and as many new ones may assert
// nothing as of the gone ones did.
func (p *Patch) expected(old, fresh map[string]testsource.Unit, missing bool) {
	var gone, come []testsource.Literal
	idle := 0
	for key, b := range old {
		if _, has := fresh[key]; b.Test && !has && b.Counts[testsource.Assertions] == 0 {
			idle++
		}
	}
	keys := slices.AppendSeq(slices.Collect(maps.Keys(old)), maps.Keys(fresh))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		b, had := old[key]
		a, has := fresh[key]
		switch {
		case !a.Test || a.Counts[testsource.Assertions] > 0:
		case !had && missing && idle > 0:
			idle--
		case had && b.Counts[testsource.Assertions] > 0, !had && missing:
			p.weaker = append(p.weaker, at(a.Path, a.Line, "%s %s", a.Name, silent))
		}
		if had && has {
			p.changed(b.Literals, a.Literals)
		} else {
			gone, come = append(gone, b.Literals...), append(come, a.Literals...)
		}
	}
	p.changed(gone, come)
}
