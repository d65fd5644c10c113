package mutant

import (
	"context"
	"slices"
	"time"
)

// Version tells which text the test files have that a patch changes.
type Version string

// The versions: with the patch, and before it.
const (
	New Version = newTests
	Old Version = oldTests
)

// Test is a test by its file and its name in it, without parameters. A file alone means some test of it, and neither any test.
type Test struct{ File, Name string }

// filesOf are the files of tests as a whole.
func filesOf(tests []Test) (files []Test) {
	for _, t := range tests {
		if whole := (Test{File: t.File}); !slices.Contains(files, whole) {
			files = append(files, whole)
		}
	}
	return files
}

// String is the test for people.
func (t Test) String() string {
	if t.File == "" || t.Name == "" {
		return t.File + t.Name
	}
	return t.Name + " in " + t.File
}

// About is what the source tells of a test: its text, and what is odd about that; "" for nothing.
type About struct{ Text, Odd string }

// Outcome is the end of a test in one run.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"
	Skipped Outcome = "skipped"
	// Failed is a test with an assertion that does not hold, Errored one that fails otherwise, such as by an error of the code.
	Failed  Outcome = "failed"
	Errored Outcome = "errored"
	// Broken is a test during which the run crashed or was ended.
	Broken Outcome = "broken"
)

// Ran is what one run of tests tells.
type Ran struct {
	Outcomes map[Test]Outcome
	// Reached has the numbers of the mutants that each test reaches.
	Reached map[Test][]int
	// Said is the output, for messages.
	Said []byte
}

// Kills reports whether a test finds the mutant of a run. A run without outcomes finds none: the code could not be loaded.
func (r Ran) Kills(t Test) bool {
	return r.Outcomes[t] == Failed || r.Outcomes[t] == Errored || r.Outcomes[t] == Broken
}

// Suite is a program with mutants, and its tests in both versions.
type Suite interface {
	// All are the mutants in the order of their numbers.
	All() []Mutant
	// Try runs tests, or all that the gate runs for none, with a mutant; 0 chooses none. The error is none of the tests'.
	Try(ctx context.Context, v Version, number int, tests []Test, limit time.Duration) (Ran, error)
}
