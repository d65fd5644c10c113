package phase_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
)

// Final gates that pass without tests of the base commit are no success.
func TestFinalGatesWithoutTestsOfTheBaseCommit(t *testing.T) {
	t.Parallel()
	begun := func(t *testing.T) *runtest.Log {
		l := newLog(t, run.Running, nil)
		base := tested()
		base.Names = []string{"tests-base"}
		l.Append("", run.Data{Baseline: []spec.Receipt{base}})
		l.Plan(spec.Task{ID: "a", Role: "generator"})
		underTest(l)
		l.Append("", run.LandingData{Batch: 1, State: run.LandingLanded, Old: "b", Head: "h", Tree: "t", Tasks: []run.Landed{{Task: "a", Attempt: 1, Commit: "h"}}})
		l.Append("", run.Data{State: run.Final})
		l.Gates(run.FinalTask, 1, "h")
		r := tested()
		r.Tree, r.Missing = "t", "tests-lost"
		l.Ended(run.FinalTask, 1, spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{r}})
		return l
	}
	inspect := func(t *testing.T, l *runtest.Log, doubts map[string]run.Doubt) []run.Action {
		actions := phase.Finish(l.State, "t")
		require.Len(t, actions, 1)
		a := actions[0].(proof.Inspect)
		require.Equal(t, []proof.Span{{From: "b", To: "h"}}, a.Spans)
		return a.Then(proof.Inspection{Doubts: doubts})
	}
	doubts := map[string]run.Doubt{"": {Evidence: []string{"gate test passes without 1 test"}}}
	t.Run("explained", func(t *testing.T) {
		t.Parallel()
		l := begun(t)
		l.Do(inspect(t, l, nil))
		require.Equal(t, run.Done, phase.Finish(l.State, "t")[0].(run.End).Data.State)
	})
	t.Run("not explained", func(t *testing.T) {
		t.Parallel()
		l := begun(t)
		again := inspect(t, l, doubts)
		require.Equal(t, []string{"assign --again/1 to tester on b"}, runtest.Describe(again))
		l.Do(again)
		require.False(t, phase.Over(l.State), "the end waits for it")
		l.Ended(run.AgainTask, 1, spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{tested()}})
		l.Do(phase.SettleFlakes(l.State))
		l.Do(inspect(t, l, doubts))
		end := phase.Finish(l.State, "t")[0].(run.End).Data
		require.Equal(t, run.Parked, end.State)
		require.Contains(t, end.Reason, "gate test passes without 1 test")
	})
}

// The second run on the base commit adds what passed in it.
func TestTestsOfASecondRunOnTheBase(t *testing.T) {
	t.Parallel()
	l := newLog(t, run.Running, nil)
	base, again := tested(), tested()
	base.Names, again.Names = []string{"tests-1"}, []string{"tests-2"}
	l.Append("", run.Data{Baseline: []spec.Receipt{base}})
	l.Plan(spec.Task{ID: "a", Role: "generator"})
	l.Gates(run.AgainTask, 1, "b")
	require.Empty(t, phase.Flakes(l.State), "the gates need not run there three times")
	require.Empty(t, phase.SettleFlakes(l.State))
	l.Ended(run.AgainTask, 1, spec.Result{Status: spec.StatusDone, Receipts: []spec.Receipt{again}})
	l.Do(phase.SettleFlakes(l.State))
	require.Equal(t, []string{"tests-1", "tests-2"}, l.Proofs.Baseline["test"].Names)
	require.Empty(t, proof.OnBaseAgain(l.State))
	require.Empty(t, phase.SettleFlakes(l.State))
}
