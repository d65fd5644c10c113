package request_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// landedRun is a run in which first landed, then second that depends on it, then the change set of left and right with a commit for
// each; loose has no commit, and waits depends on right.
func landedRun(t *testing.T) *runtest.Log {
	t.Helper()
	l := runtest.New(t, run.Spec{Roles: runtest.Roles(), Plan: &spec.Plan{}, Base: "c-base"}, run.Running)
	l.Plan(
		spec.Task{ID: "first", Role: "generator", Title: "One"}, spec.Task{ID: "loose", Role: "generator"},
		spec.Task{ID: "second", Role: "generator", DependsOn: []string{"first"}},
		spec.Task{ID: "left", Role: "generator", ChangeSet: "set"}, spec.Task{ID: "right", Role: "generator", ChangeSet: "set"},
		spec.Task{ID: "waits", Role: "generator", DependsOn: []string{"right"}},
	)
	for _, id := range []string{"first", "loose", "second", "left", "right"} {
		l.Dispatched(id, "generator", 1, "c-base")
		r := runtest.Patched("p-"+id, "t", "c-base")
		r.Patch.Files = []string{id + ".go"}
		l.Ended(id, 1, r)
	}
	l.Append("", run.LandingData{Batch: 1, State: run.LandingLanded, Old: "c-base", Head: "c-second", Tasks: []run.Landed{
		{Task: "first", Attempt: 1, Commit: "c-first"}, {Task: "loose", Attempt: 1}, {Task: "second", Attempt: 1, Commit: "c-second"},
	}})
	l.Append("", run.LandingData{Batch: 2, State: run.LandingLanded, Old: "c-second", Head: "c-right", Set: "set", Tasks: []run.Landed{
		{Task: "left", Attempt: 1, Commit: "c-left"}, {Task: "right", Attempt: 1, Commit: "c-right"},
	}})
	return l
}

func undo(base string, files ...string) *spec.Patch {
	return &spec.Patch{Commit: "undo", Tree: "t", Base: base, Pack: "pack-undo", Files: files}
}

func TestDropRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		task   string
		patch  *spec.Patch
		before func(l *runtest.Log)
		no     string
	}{
		"a task that another one depends on": {
			task: "first", patch: undo("c-first", "first.go"),
			no: "second depends on first: first drop the landed ones of these, and skip the others",
		},
		"a change set with a member that one depends on which has not begun": {
			task: "left", patch: undo("c-right", "left.go"),
			no: "waits depends on left: first drop the landed ones of these, and skip the others",
		},
		"a task that another one depends on through one without a change": {
			task: "first", patch: undo("c-first", "first.go"), before: func(l *runtest.Log) {
				l.Append("second", run.TaskData{State: run.TaskDone})
				l.Plan(spec.Task{ID: "far", Role: "generator", DependsOn: []string{"second"}})
			},
			no: "far depends on first: first drop the landed ones of these, and skip the others",
		},
		"a task without a commit":    {task: "loose", patch: undo("c-first"), no: "loose is done: only landed tasks can be dropped"},
		"a task that has not landed": {task: "waits", patch: undo("x"), no: "waits is pending: only landed tasks can be dropped"},
		"an unknown task":            {task: "secnd", patch: undo("x"), no: `run r1 has no task "secnd" (did you mean "second"?)`},
		"a patch on another commit":  {task: "second", patch: undo("c-right", "second.go"), no: "the patch does not begin at c-second, the commit of second"},
		"no patch":                   {task: "second", no: "the patch does not begin at c-second, the commit of second"},
		"a run that was cancelled": {
			task: "second", patch: undo("c-second", "second.go"),
			before: func(l *runtest.Log) { l.Append("", run.Data{State: run.Cancelled}) },
			no:     "run r1 was cancelled, which is for good: start another run",
		},
		"what takes another one out": {
			task: "drop-second", patch: undo("undo"), before: func(l *runtest.Log) { dropped(l, "second", "c-second", "second.go") },
			no: "drop-second takes second out, with the patch that undoes it, and has no agent: add another task to restore it",
		},
		"what is being taken out": {
			task: "second", patch: undo("c-second", "second.go"), before: func(l *runtest.Log) { dropped(l, "second", "c-second", "second.go") },
			no: "drop-second drops second already, and is running: skip that one first to drop it again",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := landedRun(t)
			if c.before != nil {
				c.before(l)
			}
			_, _, err := request.Drop(&l.Agenda, &l.Batches, c.task, c.patch, "", wire.Person("ada"))
			require.EqualError(t, err, c.no)
			require.ErrorAs(t, err, new(*request.RefusedError))
		})
	}
}

// dropped has a task dropped, and folds what comes of it.
func dropped(l *runtest.Log, id, base string, files ...string) (becomes string) {
	actions, becomes, err := request.Drop(&l.Agenda, &l.Batches, id, undo(base, files...), "slow", wire.Person("ada"))
	require.NoError(l, err)
	require.Len(l, actions, 1, "one event: after a kill it is there as a whole, or not at all")
	l.Do(actions)
	return becomes
}

// The patch is there from the first event on, no agent gets the task, and what it takes out is dropped when it lands.
func TestDropLandsAsATask(t *testing.T) {
	t.Parallel()
	l := landedRun(t)
	require.Equal(t, "drop-second takes out second", dropped(l, "second", "c-second", "second.go"))
	by := l.Tasks.ByID["drop-second"]
	require.Equal(t, run.TaskRunning, by.State)
	require.True(t, l.Works.ByPerson(by))
	require.Equal(t, []string{"second.go"}, by.Task.Files)
	require.False(t, l.Works["drop-second"].Outstanding())
	require.True(t, l.Approval(by))
	require.Equal(t, -1, l.Plans.ToApprove())
	require.Equal(t, run.TaskLanded, l.Tasks.ByID["second"].State)

	l.Append("", run.LandingData{Batch: 3, State: run.LandingLanded, Head: "c-drop", Tasks: []run.Landed{
		{Task: "drop-second", Attempt: 1, Commit: "c-drop"},
	}})
	require.Equal(t, run.TaskDropped, l.Tasks.ByID["second"].State)
	require.Equal(t, "taken out by drop-second", l.Tasks.ByID["second"].Reason)
	require.Equal(t, run.TaskLanded, by.State)
	met, lost, known := l.Tasks.Depends("second")
	require.False(t, met, "what depends on it has lost what it stands on")
	require.Equal(t, "second", lost.Task.ID)
	require.True(t, known)
	require.Equal(t, "drop-first takes out first", dropped(l, "first", "c-first", "first.go"), "nothing stands on it any more")
}

func TestDropTakesAChangeSetOutAsAWhole(t *testing.T) {
	t.Parallel()
	l := landedRun(t)
	l.Append("waits", run.TaskData{State: run.TaskSkipped})
	d, err := request.Droppable(&l.Agenda, &l.Batches, "left")
	require.NoError(t, err)
	require.Equal(t, request.Landed{Tasks: []string{"left", "right"}, Old: "c-second", Head: "c-right"}, d)
	require.Equal(t, "drop-left takes out left, right", dropped(l, "left", "c-right", "left.go", "right.go"))
	l.Append("", run.LandingData{Batch: 3, State: run.LandingLanded, Head: "c-drop", Tasks: []run.Landed{
		{Task: "drop-left", Attempt: 1, Commit: "c-drop"},
	}})
	require.Equal(t, run.TaskDropped, l.Tasks.ByID["left"].State)
	require.Equal(t, run.TaskDropped, l.Tasks.ByID["right"].State)
}

// One that was given up leaves the task landed, and it can be dropped again.
func TestDropAgainAfterASkip(t *testing.T) {
	t.Parallel()
	l := landedRun(t)
	dropped(l, "second", "c-second", "second.go")
	l.Append("drop-second", run.TaskData{State: run.TaskSkipped})
	require.Equal(t, run.TaskLanded, l.Tasks.ByID["second"].State)
	require.Equal(t, "drop-second-2 takes out second", dropped(l, "second", "c-second", "second.go"))
}

// An agent could change anything else, and what the task takes out would count as dropped.
func TestNoAgentTriesADrop(t *testing.T) {
	t.Parallel()
	l := landedRun(t)
	dropped(l, "second", "c-second", "second.go")
	l.Append("drop-second", run.TaskData{State: run.TaskParked})
	const no = "drop-second takes second out, with the patch that undoes it, and has no agent"
	again := run.Revision{By: wire.Person("ada"), Brief: "x"}
	_, _, err := request.Retry(&l.Agenda, l.Works, []string{"drop-second"}, again, nil, run.PlanData{})
	require.EqualError(t, err, no+": skip it, then drop again")
	_, err = request.Revise(&l.Agenda, l.Works, "drop-second", again)
	require.EqualError(t, err, no)
	_, _, err = request.Retry(&l.Agenda, l.Works, nil, again, nil, run.PlanData{})
	require.EqualError(t, err, no+": skip it, then drop again")
	require.NoError(t, request.Givable(&l.Agenda, l.Works, l.Tasks.ByID["drop-second"], "c-second"), "a person can mend it")
}
