package run_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// A receipt counts for its tree, and for the change that it was narrowed to. One of a run in full counts for all.
func TestNarrowedReceiptsCountForTheirChangeAlone(t *testing.T) {
	t.Parallel()
	type runs []struct {
		since string
		green bool
	}
	for name, c := range map[string]struct {
		runs                runs
		full, narrowed      bool // proven so
		failFull, failSince int  // runs that failed so
		flakes              []string
	}{
		"narrowed and green":               {runs: runs{{"c1", true}}, narrowed: true},
		"narrowed to another change":       {runs: runs{{"c0", true}}},
		"in full":                          {runs: runs{{"", true}}, full: true, narrowed: true},
		"narrowed and red":                 {runs: runs{{"c1", false}}, failSince: 1},
		"narrowed to another, and red":     {runs: runs{{"c0", false}}},
		"in full and red":                  {runs: runs{{"", false}, {"", false}}, failFull: 2, failSince: 2},
		"narrowed does not hide the whole": {runs: runs{{"", false}, {"c1", true}}, narrowed: true, failFull: 1},
		"nor the whole the narrowed of another tree": {
			runs: runs{{"c1", false}, {"", true}}, full: true, narrowed: true, flakes: []string{"g: x"},
		},
		"a flake of the narrowed one": {runs: runs{{"c1", false}, {"c1", true}}, narrowed: true, flakes: []string{"g: x"}},
		"each counts its own runs":    {runs: runs{{"c0", false}, {"c1", false}, {"c0", false}}, failSince: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := runtest.New(t, run.Spec{Base: "b", Roles: runtest.Roles()}, run.Running)
			for i, r := range c.runs {
				ranGate(l, i+1, r.green, spec.Receipt{Since: r.since, Signatures: []string{"x"}})
			}
			gates := []string{"g"}
			require.Equal(t, c.full, l.Proofs.IsProven("t", gates, ""))
			require.Equal(t, c.narrowed, l.Proofs.IsProven("t", gates, "c1"))
			require.Equal(t, c.failFull, l.Proofs.Runs("t", gates, ""))
			require.Equal(t, c.failSince, l.Proofs.Runs("t", gates, "c1"))
			require.Equal(t, c.flakes, l.Proofs.Flakes())
		})
	}
}

// ranGate is an attempt of the final gates: gate g ran on tree t, and failed as the receipt tells unless it is green.
func ranGate(l *runtest.Log, attempt int, green bool, r spec.Receipt) {
	result := runtest.Failed(wire.FaultGate, "red")
	r.Gate, r.Tree, r.Verdict = "g", "t", spec.VerdictFail
	if green {
		result = spec.Result{Status: spec.StatusDone}
		r.Verdict, r.Signatures = spec.VerdictPass, nil
	}
	result.Receipts = []spec.Receipt{r}
	l.Gates(run.FinalTask, attempt, "h")
	l.Ended(run.FinalTask, attempt, result)
}
