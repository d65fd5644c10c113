package acceptance

import (
	"fmt"
	"maps"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

// ClassTests is the class of a patch that weakens tests.
const ClassTests = "tests"

// counts are what one file, or all files of a language, have of tests.
type counts struct {
	// tests, their assertions and skips; hollow are the tests without an assertion.
	tests, assertions, skips, hollow int
	// off says that builds leave the file out, or that its tests are never run.
	off int
}

func (c counts) plus(o counts) counts {
	return counts{c.tests + o.tests, c.assertions + o.assertions, c.skips + o.skips, c.hollow + o.hollow, c.off + o.off}
}

// pair is the same before and after a patch.
type pair struct {
	path          string
	before, after counts
}

// kinds are what can become worse. The patch counts as a whole, for each language: tests may move between files.
var kinds = []struct { //nolint:gochecknoglobals // a constant table
	what  string
	worse func(pair) bool
	count func(counts) int
}{
	{"fewer tests", func(p pair) bool { return p.after.tests < p.before.tests }, func(c counts) int { return c.tests }},
	{"fewer assertions", func(p pair) bool { return p.after.assertions < p.before.assertions }, func(c counts) int { return c.assertions }},
	{"more skips", func(p pair) bool { return p.after.skips > p.before.skips }, func(c counts) int { return c.skips }},
	{
		"more tests that assert nothing",
		func(p pair) bool { // a new test may only run something
			return p.after.hollow-p.before.hollow > max(0, p.after.tests-p.before.tests)
		},
		func(c counts) int { return c.hollow },
	},
	{"more files whose tests never run", func(p pair) bool { return p.after.off > p.before.off }, func(c counts) int { return c.off }},
}

// maxEvidence bounds the findings of one kind.
const maxEvidence = 10

// weakened finds what a patch takes away from tests.
func weakened(changes []Change) []string {
	var evidence []string
	pairs := make([]pair, len(changes))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, c := range changes {
		group.Go(func() error {
			l := languageOf(c.Path)
			pairs[i] = pair{c.Path, l.count(c.Path, c.Before, c.Before), l.count(c.Path, c.After, c.Before)}
			return nil
		})
	}
	if err := group.Wait(); err != nil { // no count fails
		evidence = append(evidence, err.Error())
	}
	byLanguage := map[string][]pair{}
	for i, c := range changes {
		if c.Unread != "" {
			evidence = append(evidence, fmt.Sprintf("%s: its tests were not compared: %s", c.Path, c.Unread))
			continue
		}
		name := languageOf(c.Path).name
		byLanguage[name] = append(byLanguage[name], pairs[i])
	}
	for _, name := range slices.Sorted(maps.Keys(byLanguage)) {
		evidence = append(evidence, compare(byLanguage[name])...)
	}
	return evidence
}

func compare(files []pair) (evidence []string) {
	var all pair
	for _, f := range files {
		all.before, all.after = all.before.plus(f.before), all.after.plus(f.after)
	}
	for _, k := range kinds {
		if !k.worse(all) {
			continue
		}
		told := 0
		for _, f := range files {
			if !k.worse(f) {
				continue
			}
			if told++; told <= maxEvidence {
				evidence = append(evidence, fmt.Sprintf("%s: %s, %d before and %d after", f.path, k.what, k.count(f.before), k.count(f.after)))
			}
		}
		if told > maxEvidence {
			evidence = append(evidence, fmt.Sprintf("%s in %d more files", k.what, told-maxEvidence))
		}
	}
	return evidence
}
