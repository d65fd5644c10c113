package request

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/master"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
	"divisi/subagents/wire"
)

// doubted is a run with a change set: a is at work, and the patch of b is held.
func doubted(t *testing.T) *runtest.Log {
	t.Helper()
	l := runtest.New(t, run.Spec{Roles: runtest.Roles(), Plan: &spec.Plan{}, OnDoubt: run.OnDoubtReject}, run.Running)
	l.Plan(spec.Task{ID: "a", Role: "generator", ChangeSet: "set", Attempts: 1}, spec.Task{ID: "b", Role: "generator", ChangeSet: "set", Attempts: 5})
	for _, id := range []string{"a", "b"} {
		l.Dispatched(id, "generator", 1, "h")
	}
	l.Ended("b", 1, runtest.Patched("c-b", "t", "h"))
	l.Append("b", run.TaskData{State: run.TaskHeld, Reason: "weaker", Doubt: &run.Doubt{Evidence: []string{"tests were removed"}}})
	return l
}

// parkA lets a fail for good, and with it its set.
func parkA(l *runtest.Log) {
	l.Ended("a", 1, runtest.Failed("x", "y"))
	l.Do(recovery.Failed(&l.Agenda, &l.Agents, l.Tasks.ByID["a"], spec.Fault{Class: wire.FaultGate, Message: "red"}))
	l.Do(landing.ParkSets(l.State))
}

// A held patch waits for its decision, also when its change set was parked meanwhile and is opened again.
func TestADoubtOutlivesTheParkingOfItsSet(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(l *runtest.Log) ([]run.Action, error){
		"retry": func(l *runtest.Log) ([]run.Action, error) {
			actions, _, err := Retry(&l.Agenda, l.Works, []string{"a"}, run.Revision{By: wire.Person("ada")}, nil, run.PlanData{})
			return actions, err
		},
		"revise": func(l *runtest.Log) ([]run.Action, error) {
			return Revise(&l.Agenda, l.Works, "a", run.Revision{By: "master/2", Brief: "x"})
		},
		"skip": func(l *runtest.Log) ([]run.Action, error) {
			actions, _, err := Skip(&l.Agenda, l.Works, []string{"a"}, run.Revision{By: wire.Person("ada")}, "no")
			return actions, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := doubted(t)
			parkA(l)
			require.Equal(t, run.TaskHeld, l.Tasks.ByID["b"].State, "it is asked about before its set is parked")
			l.Append("b", run.TaskData{State: run.TaskParked})
			require.Nil(t, l.Tasks.ByID["b"].Doubts[0].Answer)
			actions, err := again(l)
			require.NoError(t, err)
			l.Do(actions)
			require.Equal(t, run.TaskHeld, l.Tasks.ByID["b"].State)
			require.Len(t, l.Tasks.ByID["b"].Doubts, 1)
			require.Equal(t, []string{"tests were removed"}, l.Tasks.ByID["b"].Doubt().Evidence)
			require.Empty(t, landing.Land(l.State))
		})
	}
}

// The patch of before a revision does not land in its place.
func TestARevisionOutlivesTheParkingOfItsSet(t *testing.T) {
	t.Parallel()
	l := doubted(t)
	actions, err := Revise(&l.Agenda, l.Works, "b", run.Revision{By: "master/2", Brief: "keep the tests"})
	require.NoError(t, err)
	l.Do(actions)
	parkA(l)
	actions, _, err = Retry(&l.Agenda, l.Works, []string{"a"}, run.Revision{By: wire.Person("ada")}, nil, run.PlanData{})
	require.NoError(t, err)
	l.Do(actions)
	require.Equal(t, run.TaskPending, l.Tasks.ByID["b"].State)
}

// led is a run with a master whose template is held.
func led(t *testing.T) *runtest.Log {
	t.Helper()
	l := runtest.New(t, run.Spec{Base: "b", Roles: runtest.Roles(), Parallel: 64, OnDoubt: run.OnDoubtAsk, AutoApprove: true}, run.Running)
	l.Dispatched(run.MasterTask, spec.RoleMaster, 1, "b")
	l.Ended(run.MasterTask, 1, spec.Result{Status: spec.StatusDone})
	var tasks []spec.Task
	for i := range 9 {
		tasks = append(tasks, spec.Task{
			ID: fmt.Sprintf("t-%03d", i+1), ShardOf: "t", Role: "generator", Brief: "old", Attempts: 5,
			Files: []string{fmt.Sprintf("svc/p%03d/x.go", i+1)},
		})
	}
	l.Append("", run.PlanData{By: "master/1", Tasks: tasks})
	for n := range 3 {
		fails(l, n+1, "f")
	}
	l.Do(Hold(l.State))
	require.Len(t, l.Templates.Holds(), 1)
	return l
}

// A task that the master plans behind a held template does not keep its answer from counting.
func TestWhatWaitsForAHeldTemplateIsNoPartOfTheAnswer(t *testing.T) {
	t.Parallel()
	l := led(t)
	l.Do(master.Wake(l.State))
	l.Append("", run.PlanData{By: "master/2", Tasks: []spec.Task{
		{ID: "fix", Role: "generator", Attempts: 5},
		{ID: "cleanup", Role: "generator", DependsOn: []string{"t", "fix"}, Attempts: 5},
		{ID: "last", Role: "generator", DependsOn: []string{"cleanup"}, Attempts: 5},
	}})
	l.Ended(run.MasterTask, 2, spec.Result{Status: spec.StatusDone})
	l.Append(run.MasterTask, run.TaskData{State: run.TaskPending})
	require.Empty(t, ReviseAfterPlan(l.State), "fix has not ended")
	l.Append("fix", run.TaskData{State: run.TaskLanded})
	l.Do(ReviseAfterPlan(l.State))
	require.Empty(t, l.Templates.Holds())
	ready, _ := schedule.Ready(l.State)
	require.Contains(t, ready, "t-001")
}

// Only what the master plans in a turn that begins with the hold answers it.
func TestAnotherPlanAnswersNoHold(t *testing.T) {
	t.Parallel()
	l := template(t, run.OnDoubtAsk, 9)
	for n := range 3 {
		fails(l, n+1, "f")
	}
	l.Do(Hold(l.State))
	l.Append("", run.PlanData{By: "other/1", Follows: "q1", Tasks: []spec.Task{{ID: "f", Role: "generator"}}})
	l.Append("f", run.TaskData{State: run.TaskLanded})
	require.Len(t, l.Templates.Holds(), 1)
	require.Empty(t, ReviseAfterPlan(l.State))

	early := led(t)
	early.Append("", run.PlanData{By: "master/1", Tasks: []spec.Task{{ID: "more", Role: "generator"}}})
	require.Equal(t, -1, PlanAfter(&early.Plans, early.Works, early.Templates.Holds()[0]), "that turn had begun before")
}

// A hold whose shards have all ended asks for nothing.
func TestAHoldEndsWithItsShards(t *testing.T) {
	t.Parallel()
	l := template(t, run.OnDoubtAsk, 9)
	for n := range 3 {
		fails(l, n+1, "f")
	}
	l.Do(Hold(l.State))
	require.Len(t, l.Templates.Holds(), 1)
	_, _, err := Retry(&l.Agenda, l.Works, []string{"t"}, run.Revision{By: wire.Person("ada"), Brief: "new"}, nil, run.PlanData{})
	require.ErrorContains(t, err, "the template t is held, and waits for an answer: 3 shards fail in the same way, such as t-003/1")
	actions, _, err := Skip(&l.Agenda, l.Works, []string{"t"}, run.Revision{By: wire.Person("ada")}, "no")
	require.NoError(t, err)
	l.Do(actions)
	require.Empty(t, l.Templates.Holds())
	require.Empty(t, ReviseAfterPlan(l.State))
}

// A comment on a held template end the brief of each shard, its own one too, once, however often a kill repeats them.
func TestWordsToAHeldTemplate(t *testing.T) {
	t.Parallel()
	l := led(t)
	actions, err := Revise(&l.Agenda, l.Works, "t-001", run.Revision{By: wire.Person("ada"), Brief: "only for this one"})
	require.NoError(t, err)
	l.Do(actions)
	l.Dispatched(run.MasterTask, spec.RoleMaster, 2, "b")
	l.Agent(run.MasterTask, 2, contextscope.KindRequest, wire.Request{ID: "q", Kind: wire.RequestSend, Task: "t", Text: "WORDS"})
	l.Do(Settle(l.State)[:4]) // a kill
	l.Do(Settle(l.State))
	require.Equal(t, "only for this one\n\nWORDS", l.Tasks.ByID["t-001"].Task.Brief)
	require.Equal(t, "old\n\nWORDS", l.Tasks.ByID["t-002"].Task.Brief)
	require.Equal(t, "old\n\nWORDS", l.Tasks.ByID["t-009"].Task.Brief)
	require.Empty(t, l.Templates.Holds())
}

// A master that revises the same task for ever is stopped; a person is not.
func TestAMasterRevisesATaskAFewTimes(t *testing.T) {
	t.Parallel()
	l := led(t)
	for n := range maxRevisions {
		actions, err := Revise(&l.Agenda, l.Works, "t-009", run.Revision{By: fmt.Sprintf("master/%d", n), Brief: "again"})
		require.NoError(t, err)
		l.Do(actions)
	}
	_, err := Revise(&l.Agenda, l.Works, "t-009", run.Revision{By: "master/9", Brief: "again"})
	require.ErrorContains(t, err, "t-009 was revised 5 times, which did not help")
	actions, err := Revise(&l.Agenda, l.Works, "t-009", run.Revision{By: wire.Person("ada"), Brief: "better"})
	require.NoError(t, err)
	l.Do(actions)
	_, err = Revise(&l.Agenda, l.Works, "t-009", run.Revision{By: "master/9", Brief: "again"})
	require.NoError(t, err, "a person has changed it meanwhile")
}

// Files that an agent's child is to write are not given to another task: each would wait for the other.
func TestRevisedFilesMakeNoCircle(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Base: "b", Roles: runtest.Roles(), Parallel: 8, Plan: &spec.Plan{}}, run.Running)
	l.Plan(spec.Task{ID: "p", Role: "generator", Files: []string{"p.go"}, Attempts: 5}, spec.Task{ID: "r", Role: "generator", Files: []string{"r.go"}, Attempts: 5})
	l.Append("r", run.TaskData{State: run.TaskParked, Reason: "no"})
	l.Dispatched("p", "generator", 1, "b")
	l.Agent("p", 1, contextscope.KindRequest, wire.Request{ID: "q", Kind: wire.RequestDelegate, Role: "generator", Brief: "c", Files: []string{"c.go"}})
	l.Append("", run.PlanData{By: "p/1", Request: "q", Tasks: []spec.Task{{ID: "p-c", Role: "generator", Files: []string{"c.go"}, Attempts: 5}}})
	_, err := Revise(&l.Agenda, l.Works, "r", run.Revision{By: wire.Person("ada"), Files: &[]string{"p.go", "c.go"}})
	require.ErrorContains(t, err, "c.go is for p-c to write, which the agent of p waits for")
}

// A goal run that was opened again has its master again.
func TestAMasterLeadsWhatWasOpenedAgain(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Base: "b", Roles: runtest.Roles(), Parallel: 8, OnDoubt: run.OnDoubtReject, AutoApprove: true}, run.Running)
	l.Dispatched(run.MasterTask, spec.RoleMaster, 1, "b")
	l.Ended(run.MasterTask, 1, spec.Result{Status: spec.StatusDone})
	l.Append("", run.PlanData{By: "master/1", Tasks: []spec.Task{{ID: "a", Role: "generator", Brief: "x", Attempts: 5}}})
	l.Append("a", run.TaskData{State: run.TaskParked, Reason: "x"})
	l.Append(run.MasterTask, run.TaskData{State: run.TaskDone})
	l.Append("", run.Data{State: run.Parked})
	actions, _, err := Retry(&l.Agenda, l.Works, nil, run.Revision{By: wire.Person("ada")}, nil, run.PlanData{})
	require.NoError(t, err)
	l.Do(actions)
	l.Append("", run.Data{State: run.Running, Epoch: 2})
	_, _, err = Send(&l.Agenda, &l.Agents, "", "hello", wire.Person("ada"))
	require.NoError(t, err)
	l.Dispatched("a", "generator", 1, "b")
	l.Append("a", run.TaskData{State: run.TaskHeld, Doubt: &run.Doubt{Evidence: []string{"e"}}})
	require.True(t, l.ForMaster(l.Tasks.ByID["a"].Doubt().Pos, &l.Spec))
}

// Nothing is decided in a run that is over.
func TestNothingIsDecidedInARunThatIsOver(t *testing.T) {
	t.Parallel()
	l := doubted(t)
	l.Append("", run.Data{State: run.Cancelled})
	_, err := Accept(&l.Agenda, l.Works, "b", run.Answer{By: wire.Person("ada")})
	require.EqualError(t, err, "run r1 is over: cancelled")
	h := led(t)
	h.Append("", run.Data{State: run.Cancelled})
	for _, decide := range []func() error{
		func() error {
			_, err := Accept(&h.Agenda, h.Works, "t", run.Answer{By: wire.Person("ada")})
			return err
		},
		func() error {
			_, err := Cancel(&h.Agenda, h.Works, "t", "x", wire.Person("ada"))
			return err
		},
		func() error {
			_, _, err := Send(&h.Agenda, &h.Agents, "t", "x", wire.Person("ada"))
			return err
		},
	} {
		require.EqualError(t, decide(), "run r1 is over: cancelled")
	}
}

// A role whose tests must fail first is for a task of a change set.
func TestARoleThatProvesNeedsAChangeSet(t *testing.T) {
	t.Parallel()
	roles := runtest.Roles()
	w := roles["generator"]
	w.Name, w.Proves = "test-writer", spec.ProvesRedGreen
	roles["test-writer"] = w
	l := runtest.New(t, run.Spec{Base: "b", Roles: roles, Plan: &spec.Plan{}}, run.Running)
	l.Plan(spec.Task{ID: "a", Role: "generator"})
	l.Append("a", run.TaskData{State: run.TaskParked})
	_, _, err := Retry(&l.Agenda, l.Works, nil, run.Revision{By: wire.Person("ada"), Role: "test-writer"}, nil, run.PlanData{})
	require.ErrorContains(t, err, "a is in no change set")
}
