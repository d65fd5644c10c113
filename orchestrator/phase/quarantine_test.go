package phase_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/subagents/wire"
)

// A worker lies once in forty receipts: it signs a pass for a batch whose gates fail. What it alone has proven since the time is
// proven again by the gates in full on another worker, the lie is found, and the report tells.
func TestALieInFortyReceiptsIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lie   int // the batch
		state run.Status
		runs  int // of gates in full
	}{
		"a lie":               {lie: 17, state: run.Parked, runs: 8},
		"the worker is right": {state: run.Done, runs: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newCrewed(t, 0, "a", "b", "c")
			var alone []string
			from := uint64(0)
			for n := 1; n <= 40; n++ {
				worker := "b"
				if n%2 == 1 {
					worker = "a"
				}
				if n == 11 {
					from = l.Pos
				}
				l.land(n, worker)
				if worker == "a" && n >= 11 && n != 13 {
					alone = append(alone, fmt.Sprintf("task%d", n))
				}
			}
			// Another worker has proven the tree of batch 13 too.
			l.Gates(run.FinalTask, 1, "h13")
			l.gates("c", run.FinalTask, 1, spec.Receipt{Tree: "t13", Since: "h12", Verdict: spec.VerdictPass})
			l.Append("", run.Data{Quarantine: &run.Quarantine{Worker: "a", From: from, By: "user:ann"}})
			require.True(t, l.Suspect())
			require.NotContains(t, l.Crew, "a")

			end := l.end(func(n int) bool { return c.lie > 0 && n >= c.lie })
			require.Equal(t, c.state, end.State, end.Reason)
			total := 0
			for _, n := range l.runs {
				total += n
			}
			require.Equal(t, c.runs, total, "%v", l.runs)
			l.Append("", end)
			r := view.Of(l.State)
			require.Len(t, r.Quarantines, 1)
			require.Equal(t, alone, r.Quarantines[0].Alone)
			require.Equal(t, c.lie == 0, r.Quarantines[0].Proven)
			if c.lie > 0 {
				require.Equal(t, fmt.Sprintf("the final gates are redder than the baseline, first after batch %d: task%[1]d", c.lie), end.Reason)
				require.Contains(t, r.Quarantines[0].String(), "14 changes (task11, task15, task17,")
				require.Contains(t, r.Quarantines[0].String(), "not proven again")
			} else {
				require.Contains(t, r.Quarantines[0].String(), "which others have proven since")
			}
		})
	}
}

// What counts of a worker in quarantine, and what does not.
func TestAQuarantine(t *testing.T) {
	t.Parallel()
	quarantine := func(l *crewed, from uint64) {
		l.Append("", run.Data{Quarantine: &run.Quarantine{Worker: "a", From: from, By: "user:ann"}})
	}
	t.Run("a result that is to be settled does not count", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 0, "a", "b")
		l.Append("", run.LandingData{
			Batch: 1, State: run.LandingTesting, Old: "b", Head: "h1", Tree: "t1",
			Dispatch: &run.Dispatch{Task: "--batch-1", Attempt: 1, Role: spec.RoleTester, Gates: []string{"test"}, Since: "b"},
		})
		r := l.gates("a", "--batch-1", 1, spec.Receipt{Tree: "t1", Since: "b", Verdict: spec.VerdictPass})
		require.Equal(t, spec.StatusDone, r.Status)
		quarantine(l, 0)
		require.Equal(t, spec.StatusFailed, l.Works.Settled("--batch-1").Status)
		require.False(t, l.Proofs.IsProven("t1", []string{"test"}, "b"))
	})
	t.Run("what it hands in later does not count", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 0, "a", "b")
		l.Plan(spec.Task{ID: "x", Role: "generator"})
		l.Dispatched("x", "generator", 1, "b")
		quarantine(l, 0)
		l.Ended("x", 1, runtest.Patched("c", "tree", "b"))
		require.Equal(t, spec.StatusFailed, l.Works.Settled("x").Status)
		require.Equal(t, "worker a is in quarantine", l.Works.Settled("x").Error.Message)
	})
	t.Run("what it left in an attempt proves nothing for the next worker", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 0, "a", "b")
		l.Gates(run.AgainTask, 1, "b")
		left := l.gates("a", run.AgainTask, 1, spec.Receipt{Tree: "base", Verdict: spec.VerdictPass}).Receipts
		l.Gates(run.FlakesTask, 1, "b")
		l.By("a", run.FlakesTask, 1, contextscope.KindStarted, wire.Started{Delivery: 1})
		left[0].Agent = run.FlakesTask + "/1"
		require.NoError(t, wire.Sign("r1", "a", l.keys["a"], &left[0]))
		l.By("a", run.FlakesTask, 1, contextscope.KindReceipt, left[0])
		quarantine(l, 0)
		l.By("b", run.FlakesTask, 1, contextscope.KindStarted, wire.Started{Delivery: 2})
		l.By("b", run.FlakesTask, 1, contextscope.KindResult, spec.Result{Status: spec.StatusDone, Receipts: left})
		require.Equal(t, "the receipt of gate test does not count: worker a is in quarantine",
			l.Works.Settled(run.FlakesTask).Error.Message)
	})
	t.Run("its second proof is given again", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 100, "a", "b", "c")
		l.land(1, "b")
		require.Equal(t, run.Done, l.end(passes).State)
		require.Equal(t, "a", l.Batches.Landed[0].Second.Worker)
		quarantine(l, 0)
		require.True(t, l.Batches.Reproving())
		require.Equal(t, run.Done, l.end(passes).State)
		require.Equal(t, "c", l.Batches.Landed[0].Second.Worker)
		require.Empty(t, l.Quarantines["a"].Alone)
	})
	t.Run("what it has proven before counts", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 0, "a", "b")
		l.land(1, "a")
		quarantine(l, l.Pos)
		require.False(t, l.Suspect())
		require.True(t, l.Proofs.IsProven("t1", []string{"test"}, "b"))
	})
	t.Run("an earlier time widens it, and a later one changes nothing", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 0, "a", "b")
		l.land(1, "a")
		mid := l.Pos
		l.land(2, "a")
		quarantine(l, mid)
		require.Equal(t, []string{"task2"}, l.Quarantines["a"].Alone)
		quarantine(l, 0)
		require.Equal(t, []string{"task1", "task2"}, l.Quarantines["a"].Alone)
		quarantine(l, mid)
		require.Equal(t, []string{"task1", "task2"}, l.Quarantines["a"].Alone)
	})
	t.Run("its final gates do not count", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 0, "a", "b")
		l.land(1, "b")
		require.Equal(t, run.Done, l.end(passes).State)
		require.Equal(t, "a", l.Final[0].Worker)
		quarantine(l, 0)
		require.Empty(t, l.Final)
		require.Equal(t, run.Done, l.end(passes).State)
		require.Equal(t, "b", l.Final[0].Worker, "no other one is there")
	})
	t.Run("who proved and who proved again are both out", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 0, "a", "b", "c")
		l.land(1, "b")
		require.Equal(t, run.Done, l.end(passes).State)
		final := l.Final[0].Worker
		require.NotEqual(t, "b", final)
		require.True(t, l.Trusts("b", 0))
		require.True(t, l.Trusts(final, 0), "the end relies on it")
		require.False(t, l.Trusts(final, l.Pos))
		l.Append("", run.Data{Quarantine: &run.Quarantine{Worker: "b", By: "user:ann"}})
		require.False(t, l.Suspect(), "the final gates have passed on another one")
		l.Append("", run.Data{Quarantine: &run.Quarantine{Worker: final, By: "user:ann"}})
		require.True(t, l.Suspect())
		require.Equal(t, run.Done, l.end(passes).State)
		require.NotContains(t, []string{"b", final}, l.Final[0].Worker)
	})
	t.Run("with its baseline nothing counts that was compared with it", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 0, "a", "b", "z")
		l.Gates(run.BaselineTask, 1, "b")
		l.gates("z", run.BaselineTask, 1, spec.Receipt{Tree: "base", Verdict: spec.VerdictPass})
		l.land(1, "b")
		l.Gates("--batch-2", 1, "h2")
		l.Append("", run.Data{Quarantine: &run.Quarantine{Worker: "z", By: "user:ann"}})
		require.False(t, l.Baselined())
		require.Equal(t, []string{"task1"}, l.Quarantines["z"].Alone)
		r := l.gates("b", "--batch-2", 1, spec.Receipt{Tree: "t2", Since: "h1", Verdict: spec.VerdictPass})
		require.Equal(t, spec.StatusFailed, r.Status)
		require.Equal(t, []string{"assign --baseline/2 to tester on b"}, runtest.Describe(phase.Baseline(l.State)))
		l.Do(phase.Baseline(l.State))
		require.Empty(t, phase.Baseline(l.State), "it is outstanding")
		l.gates("b", run.BaselineTask, 2, spec.Receipt{Tree: "base", Verdict: spec.VerdictPass})
		l.Do(phase.Baseline(l.State))
		require.True(t, l.Baselined())
		require.Contains(t, strings.Join(l.Notices, "\n"), "results of a worker in quarantine do not count")
		require.Equal(t, run.Done, l.end(passes).State)
		require.Equal(t, map[string]int{"h1": 2}, l.runs, "in full, on two workers")
	})
}
