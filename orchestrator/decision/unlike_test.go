package decision_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

var oddEdit = landing.Unlike([]run.Unlike{{File: "a.go", Line: 3, Was: "n = 1", Is: "n = 10"}})

// withUnlike is a run with four shards of one template: the patches of t-0 and t-1 are held, t-2 is accepted, t-3 has not begun.
func withUnlike(t *testing.T, configure func(*run.Spec)) *runtest.Log {
	t.Helper()
	s := run.Spec{Base: "b", Roles: runtest.Roles(), Parallel: 8, Plan: &spec.Plan{}, OnDoubt: run.OnDoubtAsk}
	if configure != nil {
		configure(&s)
	}
	l := runtest.New(t, s, run.Running)
	var shards []spec.Task
	for i := range 4 {
		shards = append(shards, spec.Task{
			ID: fmt.Sprintf("t-%d", i), ShardOf: "t", Role: "generator", Attempts: 5, Files: []string{fmt.Sprintf("t-%d/x.go", i)},
		})
	}
	l.Plan(shards...)
	for _, id := range []string{"t-0", "t-1"} {
		holds(l, id, 1, oddEdit)
	}
	l.Dispatched("t-2", "generator", 1, "b")
	l.Ended("t-2", 1, runtest.Patched("c-2", "tree", "b"))
	return l
}

// allLanded is withUnlike once no other shard is under way.
func allLanded(t *testing.T, configure func(*run.Spec)) *runtest.Log {
	t.Helper()
	l := withUnlike(t, configure)
	l.Append("t-2", run.TaskData{State: run.TaskLanded})
	return l
}

// The question opens when no other shard is under way, so that it is one about all of them.
func TestWhenUnlikePatchesAreAskedAbout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*runtest.Log)
		open   bool
	}{
		"a sibling is accepted": {func(l *runtest.Log) { l.Append("t-2", run.TaskData{State: run.TaskAccepted}) }, false},
		"a sibling is tested":   {func(l *runtest.Log) { l.Append("t-2", run.TaskData{State: run.TaskLanding}) }, false},
		"a sibling runs": {func(l *runtest.Log) {
			l.Append("t-2", run.TaskData{State: run.TaskLanded})
			l.Dispatched("t-3", "generator", 1, "b")
		}, false},
		"a sibling has not begun": {func(l *runtest.Log) { l.Append("t-2", run.TaskData{State: run.TaskLanded}) }, true},
		"a sibling is parked":     {func(l *runtest.Log) { l.Append("t-2", run.TaskData{State: run.TaskParked}) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := withUnlike(t, nil)
			c.change(l)
			if !c.open {
				require.Empty(t, decision.Open(l.State))
				return
			}
			d := only(t, l.State, run.DecideUnlike)
			require.Equal(t, []string{"t-0", "t-1"}, d.Tasks)
			require.Equal(t, "a decision about 2 shards with edits that no other shard makes", d.Text)
			require.Equal(t, []string{"t-0: a.go:3: `n = 1` became `n = 10`", "t-1: a.go:3: `n = 1` became `n = 10`"}, d.Evidence)
			require.Len(t, decision.Open(l.State), 1, "they are no other decisions")
		})
	}
}

func TestAnswersAboutUnlikePatches(t *testing.T) {
	t.Parallel()
	states := func(l *runtest.Log) [2]run.TaskState {
		return [2]run.TaskState{l.Tasks.ByID["t-0"].State, l.Tasks.ByID["t-1"].State}
	}
	for name, c := range map[string]struct {
		answer run.Answer
		want   [2]run.TaskState
		open   []string
	}{
		"accept":     {run.Answer{Option: run.Accept}, [2]run.TaskState{run.TaskRunning, run.TaskRunning}, nil},
		"accept one": {run.Answer{Option: run.Accept, Of: "t-0"}, [2]run.TaskState{run.TaskRunning, run.TaskHeld}, []string{"t-1"}},
		"reject one": {run.Answer{Option: run.Reject, Of: "t-1", Text: "Keep 1"}, [2]run.TaskState{run.TaskHeld, run.TaskPending}, []string{"t-0"}},
		"skip":       {run.Answer{Option: run.Skip}, [2]run.TaskState{run.TaskSkipped, run.TaskSkipped}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := allLanded(t, nil)
			before := only(t, l.State, run.DecideUnlike)
			c.answer.ID, c.answer.By = before.ID, wire.Person("ada")
			taken, _, err := decision.Take(l.State, c.answer)
			require.NoError(t, err)
			l.Do(taken)
			require.Equal(t, [2]run.TaskState{run.TaskHeld, run.TaskHeld}, states(l), "a kill may come here")
			l.Do(decision.Carry(l.State, time.Time{}))
			require.Equal(t, c.want, states(l))
			require.Empty(t, l.Decisions.Waiting())
			if c.open == nil {
				require.Empty(t, decision.Open(l.State))
				return
			}
			if l.Tasks.ByID["t-1"].State == run.TaskPending {
				l.Append("t-1", run.TaskData{State: run.TaskParked})
			} else {
				l.Append("t-0", run.TaskData{State: run.TaskLanded})
			}
			d := only(t, l.State, run.DecideUnlike)
			require.Equal(t, c.open, d.Tasks, "the other one is still asked about")
			require.NotEqual(t, before.ID, d.ID, "it is another question")
			_, _, err = decision.Take(l.State, c.answer)
			require.Error(t, err, "the answer was about more")
		})
	}
}

func TestThePolicyAboutUnlikePatches(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]run.TaskState{
		run.OnDoubtAsk: run.TaskHeld, run.OnDoubtAccept: run.TaskRunning, run.OnDoubtReject: run.TaskPending,
	} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			l := allLanded(t, func(s *run.Spec) { s.OnDoubt = policy })
			for range 3 {
				l.Do(decision.Policy(l.State))
			}
			for _, id := range []string{"t-0", "t-1"} {
				require.Equal(t, want, l.Tasks.ByID[id].State, id)
			}
		})
	}
}
