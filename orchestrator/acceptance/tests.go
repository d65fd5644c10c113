package acceptance

import (
	"bytes"
	"fmt"
	"slices"
)

// What is counted of tests: empty are tests without an assertion, off is a file that builds leave out, or whose tests never run.
const (
	tests = iota
	assertions
	skips
	empty
	off
	kinds
)

// counts are what one file, or all files of a language, have of each kind.
type counts [kinds]int

var findings = [kinds]string{
	"fewer tests", "fewer assertions", "more skips", "more tests that assert nothing", "more files whose tests never run",
}

func (c *counts) add(o counts) {
	for kind, n := range o {
		c[kind] += n
	}
}

// pair is a changed file with its counts.
type pair struct {
	path          string
	before, after counts
}

func (p pair) worse(kind int) bool {
	more := p.after[kind] - p.before[kind]
	switch kind {
	case tests, assertions:
		return more < 0
	case empty: // a new test may only run something
		return more > max(0, p.after[tests]-p.before[tests])
	}
	return more > 0
}

// testsOf returns what a patch takes away from tests. The patch counts as a whole, for each language: tests may move between
// files.
func testsOf(p *Patch) (found []Finding) {
	files := make([][]pair, len(languages))
	for _, c := range p.Changes {
		switch i := languageOf(c.Path); {
		case i < 0, c.Before != nil && c.After != nil && bytes.Equal(c.Before, c.After):
		case c.Unread != "":
			found = append(found, Finding{Path: c.Path, Text: "its tests were not compared: " + c.Unread})
		default:
			files[i] = append(files[i], languages[i].compare(c))
		}
	}
	for _, own := range files {
		found = append(found, weakened(own)...)
	}
	return found
}

// weakened returns for the files of one language what is worse in them and in all of them together.
func weakened(files []pair) (out []Finding) {
	var all pair
	for _, f := range files {
		all.before.add(f.before)
		all.after.add(f.after)
	}
	for kind, finding := range findings {
		worse := slices.DeleteFunc(slices.Clone(files), func(f pair) bool { return !all.worse(kind) || !f.worse(kind) })
		for _, f := range worse[:min(len(worse), maxEvidence)] {
			out = append(out, Finding{Path: f.path, Text: fmt.Sprintf("%s, %d before and %d after", finding, f.before[kind], f.after[kind])})
		}
		if more := len(worse) - maxEvidence; more > 0 {
			out = append(out, Finding{Text: fmt.Sprintf("%s in %d more files", finding, more)})
		}
	}
	return out
}
