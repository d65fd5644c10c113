package phase_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/subagents/wire"
)

// Second proofs are chosen when a batch lands, by what its worker could not know; no other worker may give them, and the run ends
// as proven only after them.
func TestSecondProofs(t *testing.T) {
	t.Parallel()
	t.Run("all", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 100, "a", "b")
		for n := 1; n <= 4; n++ {
			l.land(n, "a")
		}
		require.False(t, phase.Over(l.State))
		require.Equal(t, run.Done, l.end(passes).State)
		require.Equal(t, 4, l.Batches.Reruns)
		for _, s := range l.Batches.Seconds() {
			require.Equal(t, run.SecondPassed, s.Second.State)
			require.Equal(t, "b", s.Second.Worker)
		}
		require.Equal(t, "4 of 4 batches that landed chosen (100%), 4 passed again; 4 gate runs added", view.Of(l.State).Reproof.String())
	})
	t.Run("the first worker gives none", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 100, "a", "b")
		l.land(1, "a")
		l.Do(phase.Reprove(l.State))
		l.crew("a")
		r := l.gates("a", "--reprove-1", 1, spec.Receipt{Tree: "t1", Since: "b", Verdict: spec.VerdictPass})
		require.Equal(t, spec.StatusFailed, r.Status, "not even where it is alone")
		require.True(t, l.Batches.Reproving())
	})
	t.Run("no other worker is there", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 100, "a")
		l.land(1, "a")
		l.Plan(spec.Task{ID: "x", Role: "generator"})
		require.Empty(t, phase.Reprove(l.State), "one may come")
		l.Append("x", run.TaskData{State: run.TaskSkipped})
		require.Equal(t, []string{"run batch 1 was not proven a second time: no other worker than a is there"},
			runtest.Describe(phase.Reprove(l.State)))
		require.Equal(t, run.Done, l.end(passes).State)
	})
	t.Run("the other worker leaves", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 100, "a", "b")
		l.land(1, "a")
		l.Do(phase.Reprove(l.State))
		require.Empty(t, phase.Reprove(l.State))
		l.crew("a")
		require.Equal(t, []string{
			"run batch 1 was not proven a second time: no other worker than a is there", "take back --reprove-1", "tell --reprove-1",
		}, runtest.Describe(phase.Reprove(l.State)))
		l.Do(phase.Reprove(l.State))
		require.True(t, phase.Over(l.State))
	})
	t.Run("gates that cannot be run", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 100, "a", "b")
		l.land(1, "a")
		for n := 1; n <= 3; n++ {
			l.Do(phase.Reprove(l.State))
			l.By("b", "--reprove-1", n, contextscope.KindStarted, wire.Started{Delivery: 1})
			l.By("b", "--reprove-1", n, contextscope.KindResult, runtest.Failed(wire.FaultSetup, "no disk"))
		}
		require.Equal(t, []string{"run batch 1 was not proven a second time: its gates could not be run: no disk"},
			runtest.Describe(phase.Reprove(l.State)))
	})
	t.Run("a batch under test goes first", func(t *testing.T) {
		t.Parallel()
		l := newCrewed(t, 100, "a", "b")
		l.land(1, "a")
		for n := 2; n <= 3; n++ {
			l.Append("", run.LandingData{
				Batch: n, State: run.LandingTesting, Old: "h1", Head: "h", Tree: fmt.Sprint("t", n),
				Dispatch: &run.Dispatch{Task: fmt.Sprint("--batch-", n), Attempt: 1, Role: spec.RoleTester, Gates: []string{"test"}, Since: "h1"},
			})
		}
		require.Empty(t, phase.Reprove(l.State))
	})
}

// The share is of all batches, whatever their number, and it is the same in each replay.
func TestTheShareOfSecondProofs(t *testing.T) {
	t.Parallel()
	const batches = 400
	for _, percent := range []float64{0, 5, 50} {
		l, again := newCrewed(t, percent, "a", "b"), newCrewed(t, percent, "a", "b")
		for n := 1; n <= batches; n++ {
			l.land(n, "a")
			again.land(n, "a")
		}
		chosen := func(l *crewed) (list []int) {
			for _, s := range l.Batches.Seconds() {
				list = append(list, s.Batch)
			}
			return list
		}
		require.Equal(t, chosen(l), chosen(again))
		require.InDelta(t, percent/100*batches, len(chosen(l)), batches/20, "%g%%", percent)
		require.Equal(t, run.Done, l.end(passes).State)
		require.Equal(t, len(chosen(l)), l.Batches.Reruns)
		t.Logf("--reprove %g%%: %d gate runs added to %d", percent, l.Batches.Reruns, l.Batches.GateRuns)
	}
	alone := newCrewed(t, 100, "a")
	alone.Crew = nil
	alone.land(1, "a")
	require.Empty(t, alone.Batches.Seconds(), "in one process there is no other worker")
}

// Where the second worker is red a person decides whom to trust.
func TestASecondProofThatDiffers(t *testing.T) {
	t.Parallel()
	for option, c := range map[string]struct {
		state run.Status
		alone []string
		who   string
	}{
		run.Trust:       {state: run.Parked, who: "b"},
		run.Quarantined: {state: run.Parked, alone: []string{"task1", "task2"}, who: "b"},
	} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			l := newCrewed(t, 100, "a", "b")
			l.land(1, "a")
			l.land(2, "a")
			lie := func(n int) bool {
				return n == 2 && (option == run.Quarantined || l.Batches.Landed[1].Second.State == run.SecondOpen)
			}
			require.Empty(t, l.end(lie).State, "it waits for the decision")
			open := decision.Open(l.State)
			require.Len(t, open, 1)
			require.Equal(t, run.DecideReproof, open[0].Kind)
			require.Equal(t, "a decision about batch 2: its gates passed on worker a, and failed on worker b", open[0].Text)
			require.Equal(t, []string{"on worker b: test is red", "in it have landed: task2"}, open[0].Evidence)
			actions, _, err := decision.Take(l.State, run.Answer{ID: open[0].ID, Option: option, By: "user:ann"})
			require.NoError(t, err)
			l.Do(actions)
			for _, carried := range decision.Carry(l.State, time.Time{}) {
				together, is := carried.(run.Together)
				require.True(t, is)
				for _, action := range together.Actions {
					if isolate, ok := action.(run.Isolate); ok {
						action = run.SetRun(run.Data{Quarantine: &isolate.Quarantine})
					}
					l.Do([]run.Action{action})
				}
			}
			require.Empty(t, decision.All(l.State))
			end := l.end(lie)
			require.Equal(t, c.state, end.State, end.Reason)
			if q := l.Quarantines["a"]; q != nil {
				require.Equal(t, []string{"task2"}, q.Alone, "another worker has proven batch 1 again")
				require.Equal(t, "user:ann", q.By)
			} else {
				require.Empty(t, c.alone)
			}
		})
	}
}
