package landing_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/run"
)

// A test that is known to be flaky leads to no task, also where it names a file that one changed.
func TestFlakyFailuresLeadToNoTask(t *testing.T) {
	t.Parallel()
	flaky := map[string][]string{"test": {"test: 0"}}
	follows := redIn("tree-l", "of-b/x.go", "of-c/x.go")
	follows.Receipts[0].Follows = map[string]string{"test: 1": "test: 0"}
	hides := redIn("tree-l", "of-b/x.go")
	hides.Receipts[0].Hidden = []string{"package: p"}
	again := []string{"landing red a b c", "assign --batch-1/2 to tester on l"}
	for name, c := range map[string]struct {
		flaky   map[string][]string
		results []spec.Result
		want    []string
	}{
		"it is not known": {nil, []spec.Result{redIn("tree-l", "of-b/x.go")}, []string{"landing split a b c parts a+c b"}},
		"alone":           {flaky, []spec.Result{redIn("tree-l", "of-b/x.go")}, again},
		"alone, in another gate": {
			map[string][]string{"lint": {"test: 0"}}, []spec.Result{redIn("tree-l", "of-b/x.go")}, []string{"landing split a b c parts a+c b"},
		},
		"with its consequence":  {flaky, []spec.Result{follows}, again},
		"with what did not run": {flaky, []spec.Result{hides}, []string{"landing split a b c parts a+b c"}},
		"beside another one": {
			flaky, []spec.Result{redIn("tree-l", "of-b/x.go", "of-c/x.go")}, []string{"landing split a b c parts a+b c"},
		},
		"green then": {
			flaky, []spec.Result{redIn("tree-l", "of-b/x.go"), green("tree-l")}, []string{"landing landed a b c", "move the branch"},
		},
		"red twice": {
			flaky, []spec.Result{redIn("tree-l", "of-b/x.go"), redIn("tree-l", "of-b/x.go")}, []string{"landing split a b c parts a+b c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, "a", "b", "c")
			l.Append("", run.Data{Flaky: c.flaky})
			for i, r := range c.results {
				batch(l, 1, i+1, "b", "l", "a", "b", "c")
				l.Ended("--batch-1", i+1, r)
			}
			require.Equal(t, c.want, described(landing.Settle(l.State)))
		})
	}
	// A part of a batch that failed so is not split at once either.
	l := newLog(t, "a", "b", "c")
	l.Append("", run.Data{Flaky: flaky})
	batch(l, 1, 1, "b", "l-c", "a", "b", "c")
	l.Append("", run.LandingData{Batch: 1, State: run.LandingSplit, Parts: [][]string{{"a", "b"}, {"c"}}, Tasks: tasksOf("a", "b", "c")})
	l.Gates(run.FinalTask, 1, "x")
	l.Ended(run.FinalTask, 1, redIn("merged", "of-b/x.go"))
	merge, ok := landing.Land(l.State)[0].(landing.Merge)
	require.True(t, ok)
	require.Equal(t, []string{"assign --batch-2/1 to tester on l-b"}, runtest.Describe(merge.Then(chainOf(merge.Candidates, nil))))
}

// A gate that failed may not run again, where one before it that has passed does not build any more: the tries have an end.
func TestAGateThatDoesNotRunAgainHasAnEnd(t *testing.T) {
	t.Parallel()
	l := newLog(t, "a")
	l.Spec.Project.Gates = []spec.Gate{{Name: "build"}, {Name: "test"}}
	l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "build", Verdict: spec.VerdictPass}, {Gate: "test", Verdict: spec.VerdictPass}}})
	var last []string
	for try := range 4 {
		d := run.LandingData{Batch: 1, State: run.LandingTesting, Old: "b", Head: "l", Tree: "tree-l"}
		d.Tasks = []run.Landed{{Task: "a", Attempt: 1, Commit: "l-a"}}
		d.Dispatch = &run.Dispatch{Task: "--batch-1", Attempt: try + 1, Role: "tester", Head: "l", Gates: []string{"build", "test"}}
		l.Append("", d)
		r := redIn("tree-l", "of-a/x.go")
		passed := spec.Receipt{Gate: "build", Tree: "tree-l", Verdict: spec.VerdictPass}
		if try > 0 {
			r.Receipts[0].Gate, r.Receipts[0].Build = "build", true
		} else {
			r.Receipts = append([]spec.Receipt{passed}, r.Receipts...)
		}
		l.Ended("--batch-1", try+1, r)
		last = described(landing.Settle(l.State))
	}
	require.Equal(t, []string{"landing split a", "task a pending test is red"}, last)
}
