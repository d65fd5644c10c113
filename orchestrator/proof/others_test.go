package proof_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/proof"
	"divisi/subagents/gate/testnames"
)

// What passes on the base commit in the first environment and not in another one keeps that one from proving anything.
func TestDiffer(t *testing.T) {
	t.Parallel()
	green := spec.Receipt{Gate: "g", Kind: spec.KindTests, Tests: 3, Passed: 3, Verdict: spec.VerdictPass}
	red := func(signatures ...string) spec.Receipt {
		r := spec.Receipt{Gate: "g", ExitCode: 1, Kind: spec.KindTests, Tests: 3, Passed: 2, Verdict: spec.VerdictFail}
		r.Signatures = signatures
		return r
	}
	hides := red("test: A")
	hides.Hidden = []string{"package: x"}
	timedOut := red("test: A")
	timedOut.TimedOut = true
	empty, fewer, script := green, green, spec.Receipt{Gate: "g", Verdict: spec.VerdictPass}
	empty.Tests, empty.Passed, fewer.Passed = 0, 0, 2
	broken := script
	broken.ExitCode, broken.Verdict, broken.Signatures = 1, spec.VerdictFail, nil
	for name, c := range map[string]struct {
		first, other  spec.Receipt
		passed, there string
		lost, gained  []string
	}{
		"the same":                        {first: green, other: green, passed: "A B", there: "A B"},
		"the same failure":                {first: red("test: A"), other: red("test: A"), passed: "B", there: "B"},
		"one fails there":                 {first: green, other: red("test: A"), passed: "A B", there: "B", lost: []string{"g: test: A"}},
		"one fails in the first":          {first: red("test: A"), other: green, passed: "B", there: "A B", gained: []string{"g: test: A"}},
		"each has one":                    {first: red("test: A"), other: red("test: B"), lost: []string{"g: test: B"}, gained: []string{"g: test: A"}},
		"one is missing there":            {first: green, other: green, passed: "A B", there: "A", lost: []string{"g: B"}},
		"one is missing in the first":     {first: green, other: green, passed: "A", there: "A B", gained: []string{"g: B"}},
		"a part does not run there":       {first: red("test: A"), other: hides, lost: []string{"g: package: x does not run"}},
		"it cannot be compared there":     {first: red("test: A"), other: timedOut, lost: []string{"g: it timed out"}},
		"no test runs there":              {first: green, other: empty, lost: []string{"g: no test runs"}},
		"fewer tests pass there, unnamed": {first: green, other: fewer, lost: []string{"g: 2 tests pass, and not 3"}, gained: nil},
		"a script is red there": {
			first: script, other: broken, lost: []string{"g: it fails, and its output names no test and no file that failed"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := func(names string) (l testnames.List) {
				for _, n := range strings.Fields(names) {
					l = append(l, testnames.Test{Name: n})
				}
				return l
			}
			d := proof.Differ(c.first, c.other, list(c.passed), list(c.there))
			require.Equal(t, c.lost, d.Lost)
			if name != "fewer tests pass there, unnamed" {
				require.Equal(t, c.gained, d.Gained)
			}
		})
	}
}
