package master_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/master"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// newLog is a run with a master in a phase.
func newLog(t *testing.T, at run.Status) *runtest.Log {
	t.Helper()
	return runtest.New(t, run.Spec{Base: "b", Goal: "g", Roles: runtest.Roles(), Parallel: 4}, at)
}

const call = "assign master/1 to master on b"

func TestWake(t *testing.T) {
	t.Parallel()
	again := []string{"assign master/2 to master on b"}
	for name, c := range map[string]struct {
		at   run.Status
		log  func(l *runtest.Log)
		want []string
	}{
		"at the start":       {run.Planning, nil, []string{call}},
		"in preflight":       {run.Preflight, nil, []string{}},
		"while it is active": {run.Planning, func(l *runtest.Log) { called(l, 1) }, []string{}},
		"with a result that the master has not read": {
			run.Planning, func(l *runtest.Log) { called(l, 1); l.Ended("master", 1, spec.Result{Status: spec.StatusDone}) }, []string{},
		},
		"while its tasks are active": {run.Running, func(l *runtest.Log) { planned(l) }, []string{}},
		"when its tasks have ended": {
			run.Running, func(l *runtest.Log) { planned(l); l.Append("t", run.TaskData{State: run.TaskDone}) }, again,
		},
		"when a task is parked, while others go on": {
			run.Running, func(l *runtest.Log) {
				planned(l)
				l.Append("", run.PlanData{By: "master/1", Tasks: []spec.Task{{ID: "u", Role: "reader"}}})
				l.Append("u", run.TaskData{State: run.TaskParked, Reason: "no"})
			}, again,
		},
		"when a task has ended well, while others go on": {
			run.Running, func(l *runtest.Log) {
				planned(l)
				l.Append("", run.PlanData{By: "master/1", Tasks: []spec.Task{{ID: "u", Role: "reader"}}})
				l.Append("u", run.TaskData{State: run.TaskDone})
			}, []string{},
		},
		"when a patch is held": {
			run.Running, func(l *runtest.Log) {
				planned(l)
				l.Append("t", run.TaskData{State: run.TaskHeld, Doubt: &run.Doubt{Evidence: []string{"fewer tests"}}})
			}, again,
		},
		"when a person is to review a patch": {
			run.Running, func(l *runtest.Log) {
				planned(l)
				l.Append("t", run.TaskData{State: run.TaskHeld, Doubt: &run.Doubt{Evidence: []string{"review"}, Review: true}})
			}, []string{},
		},
		"when a scope was refused": {
			run.Running, func(l *runtest.Log) {
				planned(l)
				l.Dispatched("t", "reader", 1, "b")
				l.Agent("t", 1, contextscope.KindRequest, wire.Request{ID: "q", Kind: wire.RequestScope, Paths: []string{"x.go"}})
				l.Append("t", wire.Answer{Request: "q", Refused: "it is locked by u"})
			}, again,
		},
		"after a failure": {
			run.Planning, func(l *runtest.Log) {
				called(l, 1)
				l.Ended("master", 1, runtest.Failed(wire.FaultLoop, "x"))
				l.Append("master", run.TaskData{State: run.TaskPending, Fault: &spec.Fault{Message: "x"}})
			}, again,
		},
		"when it is done": {
			run.Planning, func(l *runtest.Log) { called(l, 1); l.Append("master", run.TaskData{State: run.TaskDone}) }, []string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, c.at)
			if c.log != nil {
				c.log(l)
			}
			require.Equal(t, c.want, runtest.Describe(master.Wake(l.State)))
		})
	}
}

func called(l *runtest.Log, attempt int) { l.Dispatched("master", "master", attempt, "b") }

// planned is a run whose master dispatched the task t.
func planned(l *runtest.Log) {
	called(l, 1)
	l.Ended("master", 1, spec.Result{Status: spec.StatusDone, Plan: &spec.Plan{}})
	l.Append("", run.PlanData{By: "master/1", Tasks: []spec.Task{{ID: "t", Role: "reader"}}})
}

func TestSettle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		result spec.Result
		want   []string
	}{
		"a plan":       {spec.Result{Status: spec.StatusDone, Plan: &spec.Plan{}}, []string{"expand"}},
		"nothing left": {spec.Result{Status: spec.StatusDone, Handoff: spec.Handoff{Summary: "all done"}}, []string{"task master done all done"}},
		"a failure":    {runtest.Failed(wire.FaultLoop, "circles"), []string{"task master pending circles"}},
		"a spent budget": {
			runtest.Failed(wire.FaultBudget, "9"), []string{"task master pending 9", "run"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, run.Planning)
			require.Empty(t, master.Settle(l.State))
			called(l, 1)
			require.Empty(t, master.Settle(l.State), "outstanding")
			l.Ended("master", 1, c.result)
			require.Equal(t, c.want, runtest.Describe(master.Settle(l.State)))
		})
	}
}

func TestAPlanThatWritesBeginsTheRun(t *testing.T) {
	t.Parallel()
	for role, want := range map[string][]string{
		"generator": {"plan by master/1", "run running"}, "reader": {"plan by master/1"},
	} {
		l := newLog(t, run.Planning)
		called(l, 1)
		l.Ended("master", 1, spec.Result{Status: spec.StatusDone, Plan: &spec.Plan{}})
		expand, ok := master.Settle(l.State)[0].(run.Expand)
		require.True(t, ok)
		require.Equal(t, want, runtest.Describe(expand.Then(run.PlanData{Tasks: []spec.Task{{ID: "t", Role: role}}}, nil)))
		problems := []spec.Problem{{Path: "tasks", Message: "two tasks"}}
		require.Equal(t, []string{"task master pending the plan is invalid"}, runtest.Describe(expand.Then(run.PlanData{}, problems)))
	}
}

func TestTheMasterReadsWhatAPersonMadeOfItsPlan(t *testing.T) {
	t.Parallel()
	l := newLog(t, run.Running)
	planned(l)
	edit := func(brief string) {
		l.Append("", run.PlanData{
			By: "master/1", Replaces: 1, Tasks: []spec.Task{{ID: "t", Role: "reader"}},
			Edited: &spec.Plan{Tasks: []spec.Task{{ID: "t", Role: "reader", Brief: brief}}},
		})
	}
	edit("first")
	edit(strings.Repeat("second ", 100))
	require.Empty(t, master.Wake(l.State), "an edit is no reason to call it")
	l.Append("t", run.TaskData{State: run.TaskDone})
	called(l, 2)
	words := master.Message(&l.Agenda, &l.Agents, 2)
	require.Equal(t, 1, strings.Count(words, "A person edited your plan"))
	require.Contains(t, words, `"brief":"second second`)
	require.Less(t, len(words), 1000)
	l.Append("master", run.TaskData{State: run.TaskPending})
	called(l, 3)
	require.NotContains(t, master.Message(&l.Agenda, &l.Agents, 3), "edited")
}
