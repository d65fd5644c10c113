package request_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

func patchOn(base string) *spec.Patch {
	return &spec.Patch{Commit: "mine", Tree: "tree", Base: base, Pack: "pack-mine", Files: []string{"a.go"}}
}

func TestGive(t *testing.T) {
	t.Parallel()
	const cannot = ": a patch can be given to a task that is parked, held or cancelled, or waits for its next attempt"
	for name, c := range map[string]struct {
		task, base string
		before     func(l *runtest.Log)
		want       []string
		no         string
	}{
		"a parked shard, and what waited for it": {
			task: "s-1", want: []string{"task last pending", "task s-1 running a person submitted a patch"},
		},
		"a member of a change set opens all of it": {
			task: "a", want: []string{"task b accepted", "task c pending", "task a running a person submitted a patch"},
		},
		"one that waits for its next attempt": {
			task:   "runs",
			before: func(l *runtest.Log) { l.Append("runs", run.TaskData{State: run.TaskPending}) },
			want:   []string{"take back runs", "tell runs", "task runs running a person submitted a patch"},
		},
		"one whose patch is held": {
			task: "runs",
			before: func(l *runtest.Log) {
				l.Ended("runs", 1, runtest.Patched("c", "t", "h"))
				l.Append("runs", run.TaskData{State: run.TaskHeld, Doubt: &run.Doubt{Evidence: []string{"why"}}})
			},
			want: []string{"task runs running a person submitted a patch decided by user:ada"},
		},
		"in a run that has ended": {
			task:   "s-1",
			before: func(l *runtest.Log) { l.Append("", run.Data{State: run.Parked}) },
			want: []string{
				"run stopped a person submitted a patch", "task last pending", "task s-1 running a person submitted a patch",
			},
		},
		"in a run that was cancelled": {
			task:   "s-1",
			before: func(l *runtest.Log) { l.Append("", run.Data{State: run.Cancelled}) },
			no:     "run r1 was cancelled, which is for good: start another run",
		},
		"what runs":        {task: "runs", no: "runs is running" + cannot},
		"what has landed":  {task: "landed", no: "landed is landed" + cannot},
		"what is accepted": {task: "b", before: func(l *runtest.Log) { l.Append("b", run.TaskData{State: run.TaskAccepted}) }, no: "b is accepted" + cannot},
		"what there is not": {
			task: "s-3", no: `run r1 has no task "s-3" (did you mean "s-1"?)`,
		},
		"another base":     {task: "s-1", base: "elsewhere", no: "no attempt of s-1 began with the commit elsewhere"},
		"what never began": {task: "last", no: "last has no attempt yet"},
		"what only reads": {
			task: "s-1",
			before: func(l *runtest.Log) {
				l.Append("s-1", run.TaskData{State: run.TaskPending, Revision: &run.Revision{Role: "reader"}})
			},
			no: "s-1 changes no files: its role is reader",
		},
		"a set that was merged since": {
			task: "runs", before: func(l *runtest.Log) { l.Append("runs", run.TaskData{State: run.TaskPending, Head: "merged"}) },
			no: "the change set of runs was rebuilt since: take a newer attempt",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := reopened(t)
			if c.before != nil {
				c.before(l)
			}
			base := "h"
			if c.base != "" {
				base = c.base
			}
			actions, _, err := request.Give(&l.Agenda, &l.Agents, c.task, patchOn(base), wire.Person("ada"))
			if c.no != "" {
				require.EqualError(t, err, c.no)
				require.ErrorAs(t, err, new(*request.RefusedError))
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, runtest.Describe(actions))
		})
	}
}

// given is a run in which a person has just given a patch to the parked task s-1.
func given(t *testing.T) *runtest.Log {
	t.Helper()
	l := reopened(t)
	actions, becomes, err := request.Give(&l.Agenda, &l.Agents, "s-1", patchOn("h"), wire.Person("ada"))
	require.NoError(t, err)
	require.Equal(t, "s-1/2 is the patch of a person", becomes)
	l.Do(actions)
	return l
}

func TestAGivenPatchIsAnAttemptWithItsResult(t *testing.T) {
	t.Parallel()
	l := given(t)
	s1 := l.Tasks.ByID["s-1"]
	require.Equal(t, []any{run.TaskRunning, 2, spec.Person}, []any{s1.State, s1.Attempt, l.Spec.Made(s1, l.Works).Name})
	require.True(t, l.Works.ByPerson(s1))
	require.Equal(t, patchOn("h"), s1.Result.Patch)
	require.False(t, l.Works["s-1"].Outstanding(), "no worker gets it")
	require.NotContains(t, l.Queue, "s-1")

	actions, becomes, err := request.Give(&l.Agenda, &l.Agents, "s-1", patchOn("h"), wire.Person("ada"))
	require.NoError(t, err)
	require.Empty(t, actions)
	require.Equal(t, "s-1 has this patch already, and is running", becomes)
	other := patchOn("h")
	other.Commit = "other"
	_, _, err = request.Give(&l.Agenda, &l.Agents, "s-1", other, wire.Person("ada"))
	require.ErrorContains(t, err, "s-1 is running")

	actions = acceptance.Settle(l.State)
	require.Equal(t, []string{"acceptance.import"}, runtest.Describe(actions))
	checked, ok := actions[0].(acceptance.Import)
	require.True(t, ok)
	require.Equal(t, []string{"task s-1 accepted"}, runtest.Describe(checked.Then(acceptance.Verdict{Decision: acceptance.Pass})))
	require.Equal(t, spec.Person, checked.Patch.Role.Executor, "it is checked as every other one")
}

// An answer that the run did not act on yet is not lost in silence.
func TestAGivenPatchEndsAnAnswerThatWaits(t *testing.T) {
	t.Parallel()
	l := reopened(t)
	l.Ended("runs", 1, runtest.Patched("c", "t", "h"))
	l.Append("runs", run.TaskData{State: run.TaskHeld, Doubt: &run.Doubt{Evidence: []string{"why"}}})
	open := decision.ForPerson(l.State)[0]
	taken, _, err := decision.Stand(l.State, run.Answer{ID: open.ID, Option: run.Accept, Alike: true, By: wire.Person("ada")}, "shape")
	require.NoError(t, err)
	l.Do(taken)
	actions, _, err := request.Give(&l.Agenda, &l.Agents, "runs", patchOn("h"), wire.Person("bob"))
	require.NoError(t, err)
	l.Do(actions)
	require.Equal(t, []string{"the answer to " + open.ID + ", accept by user:ada, is over: a person submitted another patch"}, l.Notices)
	require.Empty(t, decision.Carry(l.State, time.Time{}))
	require.Empty(t, l.Standing, "it stands for no others")
}

// No agent can do again what a person did.
func TestAGivenPatchThatDoesNotPassParksAtOnce(t *testing.T) {
	t.Parallel()
	const not = "task s-1 parked the patch of a person did not pass: "
	for _, class := range []string{wire.FaultGate, wire.FaultConflict, wire.FaultWriteSet, wire.FaultVerdict} {
		l := given(t)
		failed := recovery.Failed(&l.Agenda, &l.Agents, l.Tasks.ByID["s-1"], spec.Fault{Class: class, Message: "no"})
		require.Equal(t, []string{not + "no"}, runtest.Describe(failed), class)
		l.Do(failed)
		actions, _, err := request.Give(&l.Agenda, &l.Agents, "s-1", patchOn("h"), wire.Person("ada"))
		require.NoError(t, err)
		require.NotEmpty(t, actions, "the same patch can be tried again, on another head")
	}

	l := given(t)
	l.Append("s-1", run.TaskData{State: run.TaskHeld, Doubt: &run.Doubt{Evidence: []string{"it weakens a test"}}})
	require.Len(t, decision.ForPerson(l.State), 1, "it is asked about as others are")
	require.Equal(t, []string{"task s-1 running decided by user:ada"},
		runtest.Describe(recovery.Decide(&l.Agenda, l.Works, l.Tasks.ByID["s-1"], run.Answer{Option: run.Accept, By: wire.Person("ada")})))
	require.Equal(t, []string{not + "the patch was rejected: it weakens a test decided by policy"},
		runtest.Describe(recovery.Decide(&l.Agenda, l.Works, l.Tasks.ByID["s-1"], run.Answer{Option: run.Reject, By: run.ByPolicy})))
}

// The failures of people are no sign of a wrong brief.
func TestGivenPatchesHoldNoTemplate(t *testing.T) {
	t.Parallel()
	for _, person := range []bool{false, true} {
		l := runtest.New(t, run.Spec{Roles: runtest.Roles(), Plan: &spec.Plan{}}, run.Running)
		shards := []string{"s-1", "s-2", "s-3", "s-4"}
		var tasks []spec.Task
		for _, id := range shards {
			tasks = append(tasks, spec.Task{ID: id, Role: "generator", ShardOf: "s"})
		}
		l.Plan(tasks...)
		for _, id := range shards[:3] {
			l.Dispatched(id, "generator", 1, "h")
			l.Ended(id, 1, runtest.Failed("agent", id))
			if person {
				l.Append(id, run.TaskData{State: run.TaskPending})
				actions, _, err := request.Give(&l.Agenda, &l.Agents, id, patchOn("h"), wire.Person("ada"))
				require.NoError(t, err)
				l.Do(actions)
			}
			l.Append(id, run.TaskData{State: run.TaskParked, Fault: &spec.Fault{Class: "x", Message: "alike"}})
		}
		require.Equal(t, person, len(request.Hold(l.State)) == 0)
	}
}

// A person makes no report on constraints: the judge of the task's own role looks after them.
func TestAGivenPatchHasTheJudgeOfItsTask(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Roles: runtest.Roles(), Plan: &spec.Plan{}}, run.Running)
	l.Plan(spec.Task{ID: "x", Role: "generator", Constraints: []string{"keep the comma"}})
	l.Dispatched("x", "generator", 1, "h")
	l.Ended("x", 1, runtest.Failed("agent", "no"))
	l.Append("x", run.TaskData{State: run.TaskParked})
	actions, _, err := request.Give(&l.Agenda, &l.Agents, "x", patchOn("h"), wire.Person("ada"))
	require.NoError(t, err)
	l.Do(actions)
	require.Equal(t, spec.RoleReviewer, l.Judge(l.Tasks.ByID["x"]))
}
