package landing_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// A batch of one patch that is red in one environment runs once more; green in another one lands it not. An attempt that ended with
// a baseline, in place of gates on the batch, is none of its tries.
func TestABatchInTwoEnvironments(t *testing.T) {
	t.Parallel()
	in := func(r spec.Result, environment string) spec.Result {
		for i := range r.Receipts {
			r.Receipts[i].Environment = environment
		}
		return r
	}
	made := spec.Result{Status: spec.StatusFailed, Error: &spec.Fault{Class: wire.FaultForeign, Message: "made"}}
	again := func(n string) []string { return []string{"landing red a", "assign --batch-1/" + n + " to tester on l"} }
	lands := []string{"landing landed a", "move the branch"}
	back := []string{"landing split a", "task a pending test is red; in another environment the same tree passed"}
	red, good := redIn("tree-l", "of-a/x.go"), green("tree-l")
	for name, c := range map[string]struct {
		results []spec.Result
		want    []string
	}{
		"green in the second":              {[]spec.Result{in(green("tree-l"), "e2")}, lands},
		"green in one that is not known":   {[]spec.Result{in(green("tree-l"), "e3")}, again("2")},
		"red in the second":                {[]spec.Result{in(redIn("tree-l", "of-a/x.go"), "e2")}, again("2")},
		"red, then green in the first":     {[]spec.Result{in(redIn("tree-l", "of-a/x.go"), "e2"), in(good, "e1")}, back},
		"red, then green in the same":      {[]spec.Result{in(red, "e2"), in(green("tree-l"), "e2")}, lands},
		"its baseline was made many times": {[]spec.Result{made, made, made, made, made}, again("6")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, "a")
			base := spec.Receipt{Gate: "test", Tree: "base", Environment: "e1", Verdict: spec.VerdictPass}
			l.Append("", run.Data{Baseline: []spec.Receipt{base}})
			base.Environment = "e2"
			l.Append("", run.Data{Other: &run.Other{Environment: "e2", Baseline: map[string]spec.Receipt{"test": base}}})
			for i, r := range c.results {
				batch(l, 1, i+1, "b", "l", "a")
				l.Ended("--batch-1", i+1, r)
			}
			require.Equal(t, c.want, described(landing.Settle(l.State)))
		})
	}
}
