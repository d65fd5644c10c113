package request

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// revising is a run with a master, two shards of s, the tasks a, b after a, and two members of a set.
func revising(t *testing.T) *runtest.Log {
	t.Helper()
	l := runtest.New(t, run.Spec{Base: "b", Goal: "g", Roles: runtest.Roles(), Parallel: 9, Project: spec.Project{
		Protected: []string{"**/*_test.go"},
	}}, run.Running)
	l.Dispatched("master", "master", 1, "b")
	l.Append("", run.PlanData{By: "master/1", Tasks: []spec.Task{
		{ID: "s-001", ShardOf: "s", Role: "generator", Brief: "old", Attempts: 3, Files: []string{"1.go"}},
		{ID: "s-002", ShardOf: "s", Role: "generator", Brief: "old", Attempts: 3, Files: []string{"2.go"}},
		{ID: "a", Role: "generator", Brief: "old", Attempts: 3, Files: []string{"a.go"}},
		{ID: "b", Role: "generator", Brief: "old", Attempts: 3, DependsOn: []string{"a"}},
		{ID: "c", Role: "generator", Brief: "old", DependsOn: []string{"b"}},
		{ID: "m", Role: "generator", ChangeSet: "set", Files: []string{"m.go"}},
		{ID: "n", Role: "generator", ChangeSet: "set", Files: []string{"n.go"}},
	}})
	return l
}

func park(l *runtest.Log, ids ...string) {
	for _, id := range ids {
		l.Append(id, run.TaskData{State: run.TaskParked, Reason: "x"})
	}
}

func TestRevise(t *testing.T) {
	t.Parallel()
	byMaster := func(brief string) run.Revision { return run.Revision{ID: "q", By: "master/1", Brief: brief} }
	files := func(by string, paths ...string) run.Revision { return run.Revision{By: by, Files: &paths} }
	for name, c := range map[string]struct {
		log     func(l *runtest.Log)
		ref     string
		r       run.Revision
		want    []string
		refused string
	}{
		"a pending task": {ref: "a", r: byMaster("new"), want: []string{"task a pending revised by master/1"}},
		"a running task": {
			log: func(l *runtest.Log) { l.Dispatched("a", "generator", 1, "b") }, ref: "a", r: byMaster("new"),
			want: []string{"task a pending revised by master/1", "take back a", "tell a"},
		},
		"a template with a landed shard": {
			log: func(l *runtest.Log) { l.Append("s-001", run.TaskData{State: run.TaskLanded}) }, ref: "s", r: byMaster("new"),
			want: []string{"task s-002 pending revised by master/1"},
		},
		"a parked task, and those that waited for it": {
			log: func(l *runtest.Log) { park(l, "a", "b", "c") }, ref: "a", r: byMaster("new"),
			want: []string{"task b pending", "task c pending", "task a pending revised by master/1"},
		},
		"a member of a parked set": {
			log: func(l *runtest.Log) {
				l.Dispatched("m", "generator", 1, "b")
				l.Dispatched("n", "generator", 1, "b")
				l.Ended("n", 1, runtest.Patched("c", "t", "b"))
				l.Append("n", run.TaskData{State: run.TaskAccepted})
				park(l, "m", "n")
			}, ref: "m", r: byMaster("new"),
			want: []string{"task n accepted", "task m pending revised by master/1", "take back m", "tell m"},
		},
		"what landed": {
			log: func(l *runtest.Log) { l.Append("a", run.TaskData{State: run.TaskLanded}) }, ref: "a", r: byMaster("new"),
			refused: "a is landed: dispatch another task for the remaining change",
		},
		"what is tested": {
			log: func(l *runtest.Log) { l.Append("a", run.TaskData{State: run.TaskLanding}) }, ref: "a", r: byMaster("new"),
			refused: "a is being tested: revise it when that has ended",
		},
		"what was cancelled": {
			log: func(l *runtest.Log) { l.Append("a", run.TaskData{State: run.TaskCancelled}) }, ref: "a", r: byMaster("new"),
			refused: "a was cancelled: only a person can open it again",
		},
		"what an agent asked for": {
			log: func(l *runtest.Log) { l.Tasks.ByID["a"].Parent = "c" }, ref: "a", r: byMaster("new"),
			refused: "a belongs to the agent of c: revise that one",
		},
		"an unknown task": {ref: "aa", r: byMaster("new"), refused: `run r1 has no task "aa" (did you mean "a"?)`},
		"protected files": {
			ref: "a", r: files("master/1", "a_test.go"),
			refused: "a_test.go is protected: dispatch a task that names it, so that a person approves it",
		},
		"protected files, by a person": {ref: "a", r: files(wire.Person("ada"), "a_test.go"), want: []string{"task a pending revised by user"}},
		"files that leave the repository": {
			ref: "a", r: files("master/1", "../x"), refused: `paths[0]: "../x": the path leaves the repository`,
		},
		"files of another task of its change set": {
			ref: "m", r: files("master/1", "n.go"),
			refused: "n.go belongs to n of the same change set: each file belongs to one of its tasks",
		},
		"the files of shards": {
			ref: "s", r: files("master/1", "x.go"), refused: "the files of the shards of s come from its rule: revise one shard, s-001",
		},
		"an unknown role": {ref: "a", r: run.Revision{By: wire.Person("ada"), Role: "x"}, refused: `run r1 has no role "x"`},
		"a run that is over": {
			log: func(l *runtest.Log) { l.Append("", run.Data{State: run.Done}) }, ref: "a", r: byMaster("new"),
			refused: "run r1 has no tasks to revise any more: it is done",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := revising(t)
			if c.log != nil {
				c.log(l)
			}
			actions, err := Revise(&l.Agenda, l.Works, c.ref, c.r)
			if c.refused != "" {
				require.EqualError(t, err, c.refused)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, runtest.Describe(actions))
			l.Do(actions)
			if c.r.ID != "" {
				actions, err = Revise(&l.Agenda, l.Works, c.ref, c.r)
				require.NoError(t, err)
				require.Empty(t, actions, "a kill came before the answer")
			}
		})
	}
}

func TestARevisedTaskBeginsAgain(t *testing.T) {
	t.Parallel()
	l := revising(t)
	for n := 1; n <= 3; n++ {
		l.Dispatched("a", "generator", n, "b")
		l.Ended("a", n, runtest.Failed(wire.FaultGate, "red"))
		l.Append("a", run.TaskData{State: run.TaskPending, Fault: &spec.Fault{Class: wire.FaultGate, Message: "red"}})
	}
	park(l, "a", "b")
	require.False(t, l.Tasks.NoneGivenUp())
	constraints := []string{"keep x"}
	actions, err := Revise(&l.Agenda, l.Works, "a", run.Revision{By: wire.Person("ada"), Brief: "new", Constraints: &constraints})
	require.NoError(t, err)
	l.Do(actions)
	v := l.Tasks.ByID["a"]
	require.Equal(t, "new", v.Task.Brief)
	require.Equal(t, constraints, v.Task.Constraints)
	require.Equal(t, []string{"a.go"}, v.Task.Files)
	require.Len(t, v.Faults, 3)
	require.Empty(t, v.Recent())
	require.True(t, l.Tasks.NoneGivenUp())
	require.Empty(t, l.Tasks.Ends(0))
	_, lost, _ := l.Tasks.Depends("a")
	require.Nil(t, lost)
}

// The calls of one turn are answered in any order.
func TestTheMasterCancelsWhatWasParked(t *testing.T) {
	t.Parallel()
	l := revising(t)
	park(l, "a", "b", "c")
	l.Agent("master", 1, contextscope.KindRequest, wire.Request{ID: "q", Kind: wire.RequestCancel, Task: "c", Reason: "not needed"})
	actions := Settle(l.State)
	require.Equal(t, []string{"task c skipped not needed", "answer master c is cancelled"}, runtest.Describe(actions))
	l.Do(actions)
	actions, err := Revise(&l.Agenda, l.Works, "a", run.Revision{ID: "r", By: "master/1", Brief: "new"})
	require.NoError(t, err)
	require.Equal(t, []string{"task b pending", "task a pending revised by master/1"}, runtest.Describe(actions))
}

func TestTheMasterRevisesAndCancels(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		q    wire.Request
		want []string
	}{
		"a brief":                       {wire.Request{Kind: wire.RequestRevise, Task: "a", Brief: "new"}, []string{"task a pending revised by master/1", "answer master a begins again"}},
		"nothing":                       {wire.Request{Kind: wire.RequestRevise, Task: "a"}, []string{"answer master name the change: brief, files or constraints"}},
		"itself":                        {wire.Request{Kind: wire.RequestCancel, Task: "master", Reason: "x"}, []string{"answer master name the task: the master itself ends with submit_result"}},
		"a task":                        {wire.Request{Kind: wire.RequestCancel, Task: "c", Reason: "not needed"}, []string{"task c skipped not needed", "answer master c is cancelled"}},
		"a task that another waits for": {wire.Request{Kind: wire.RequestCancel, Task: "b", Reason: "not needed"}, []string{"answer master c depends on b: cancel or revise that one first"}},
		"another time":                  {wire.Request{Kind: wire.RequestCancel, Task: "x", Reason: "not needed"}, []string{`answer master run r1 has no task "x"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := revising(t)
			c.q.ID = "master/1/" + c.q.Kind
			l.Agent("master", 1, contextscope.KindRequest, c.q)
			actions := Settle(l.State)
			require.Equal(t, c.want, runtest.Describe(actions))
		})
	}
}

// A question has one answer. What the master sends after it is a message, and nothing reaches who does not ask and is not there.
func TestTheMasterAnswersAQuestionOnce(t *testing.T) {
	t.Parallel()
	l := revising(t)
	l.Dispatched("a", "generator", 1, "b")
	l.Agent("a", 1, contextscope.KindRequest, wire.Request{ID: "a/1/ask", Kind: wire.RequestAsk, Question: "Which?"})
	l.Append("m", run.TaskData{State: run.TaskParked, Reason: "x"})
	sends := func(id, task, text string) []string {
		l.Agent("master", 1, contextscope.KindRequest, wire.Request{ID: id, Kind: wire.RequestSend, Task: task, Text: text})
		actions := Settle(l.State)
		l.Do(actions)
		return runtest.Describe(actions)
	}
	require.Equal(t, []string{
		"write to b: Label", "tell b", "answer master b receives it when its next attempt begins",
	}, sends("0", "b", "Label"), "the question is of another one")
	require.Equal(t, []string{"answer a Label", "answer master answers the question of a/1: Which?"}, sends("1", "a", "Label"))
	require.Equal(t, []string{
		"write to a: Title", "tell a", "answer master a/1 receives it at its next turn",
	}, sends("2", "a", "Title"))
	require.Equal(t, "Label", l.Requests.ByID["a/1/ask"].Answer.Text)
	require.Equal(t, []string{`answer master run r1 has no task "ab" (did you mean "a"?)`}, sends("3", "ab", "Label"))
	require.Equal(t, []string{"answer master m has ended and is parked: no agent works on it any more"}, sends("4", "m", "Label"))
}
