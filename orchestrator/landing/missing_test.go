package landing_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// named folds a baseline whose gate names its tests.
func named(l *runtest.Log) {
	l.Append("", run.Data{Baseline: []spec.Receipt{{
		Gate: "test", Verdict: spec.VerdictPass, Kind: spec.KindTests, Tests: 2, Passed: 2, Names: []string{"tests-base"},
	}}})
}

// lacking is a green result in which tests of the base commit did not run.
func lacking(tree string) spec.Result {
	r := green(tree)
	r.Receipts[0].Missing = "tests-lost"
	return r
}

func inspected(t *testing.T, l *runtest.Log, found proof.Inspection) []run.Action {
	t.Helper()
	actions := landing.Settle(l.State)
	require.Len(t, actions, 1)
	a, ok := actions[0].(proof.Inspect)
	require.True(t, ok, "%T", actions[0])
	return a.Then(found)
}

func asks(tasks ...string) proof.Inspection {
	found := proof.Inspection{Doubts: map[string]run.Doubt{}}
	for _, id := range tasks {
		found.Doubts[id] = run.Doubt{Evidence: []string{"TestA did not run"}, Missing: map[string]string{"test": "tests-asked"}}
	}
	return found
}

func TestAGreenBatchWithoutTestsOfTheBaseCommit(t *testing.T) {
	t.Parallel()
	begun := func(t *testing.T) *runtest.Log {
		l := newLog(t, "a", "b")
		named(l)
		batch(l, 1, 1, "b", "h", "a", "b")
		l.Ended("--batch-1", 1, lacking("tree-h"))
		return l
	}
	t.Run("explained, it lands", func(t *testing.T) {
		t.Parallel()
		l := begun(t)
		l.Do(inspected(t, l, proof.Inspection{Gone: map[string]string{"test": "tests-gone"}}))
		require.Equal(t, run.TaskLanded, l.Tasks.ByID["a"].State)
		require.Equal(t, map[string]string{"test": "tests-gone"}, l.Batches.Gone)
	})
	t.Run("the gates run on the base commit once more, and nothing lands meanwhile", func(t *testing.T) {
		t.Parallel()
		l := begun(t)
		actions := inspected(t, l, asks("b"))
		require.Equal(t, []string{"assign --again/1 to tester on b"}, runtest.Describe(actions))
		l.Do(actions)
		require.Empty(t, landing.Settle(l.State))
		require.Empty(t, landing.Land(l.State))
		l.Ended(run.AgainTask, 1, runtest.Failed(wire.FaultInternal, "it could not run"))
		require.Contains(t, runtest.Describe(inspected(t, l, asks("b"))), "task b held TestA did not run doubt: TestA did not run")
	})
	t.Run("one is asked about, the others wait for the next batch", func(t *testing.T) {
		t.Parallel()
		l := begun(t)
		l.Append("", run.Data{Flaky: map[string][]string{}})
		l.Do(inspected(t, l, asks("b")))
		require.Equal(t, run.TaskHeld, l.Tasks.ByID["b"].State)
		require.Equal(t, run.TaskAccepted, l.Tasks.ByID["a"].State)
		require.Equal(t, "b", l.Head, "nothing has landed")
		require.Empty(t, l.Batches.Testing)

		l.Do(recovery.Decide(&l.Agenda, l.Works, l.Tasks.ByID["b"], run.Answer{Option: run.Accept, By: wire.Person("ada")}))
		require.Equal(t, "TestA did not run", proof.UnverifiedPatch(&l.Agenda, &l.Proofs, l.Tasks.ByID["b"]))
		l.Append("b", run.TaskData{State: run.TaskAccepted})
		batch(l, 2, 1, "b", "h2", "a", "b")
		l.Ended("--batch-2", 1, lacking("tree-h2"))
		actions := landing.Settle(l.State)
		require.Equal(t, map[string][]string{"test": {"tests-asked"}}, actions[0].(proof.Inspect).Allowed)
	})
	t.Run("killed before the patch is held, it is asked about", func(t *testing.T) {
		t.Parallel()
		l := begun(t)
		l.Append("", run.Data{Flaky: map[string][]string{}})
		actions := inspected(t, l, asks("a", "b"))
		l.Do(actions[:1])
		require.Equal(t, run.TaskAccepted, l.Tasks.ByID["b"].State)
		merge := landing.Land(l.State)[0].(landing.Merge)
		chain := chainOf(merge.Candidates, nil)
		chain.Tree = "tree-h"
		again := merge.Then(chain)
		require.IsType(t, proof.Inspect{}, again[len(again)-1], "its tree has passed, which is not enough")
	})
	t.Run("what is built on it is dropped", func(t *testing.T) {
		t.Parallel()
		l := newLog(t, "a", "b")
		named(l)
		batch(l, 1, 1, "b", "h", "a")
		batch(l, 2, 1, "h", "h2", "b")
		l.Append("", run.Data{Flaky: map[string][]string{}})
		l.Ended("--batch-1", 1, lacking("tree-h"))
		actions := runtest.Describe(landing.Settle(l.State))
		require.Len(t, actions, 1)
		l.Ended("--batch-2", 1, lacking("tree-h2"))
		l.Do(slices.DeleteFunc(inspected(t, l, asks("a")), func(a run.Action) bool { _, ok := a.(run.Append); return !ok }))
		require.Empty(t, l.Batches.Testing)
		require.Equal(t, run.TaskAccepted, l.Tasks.ByID["b"].State)
		require.Equal(t, run.TaskHeld, l.Tasks.ByID["a"].State)
	})
}
