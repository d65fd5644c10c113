package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
	"divisi/subagents/wire"
)

func TestWhy(t *testing.T) {
	t.Parallel()
	task := func(id string, files ...string) spec.Task { return spec.Task{ID: id, Role: "generator", Files: files} }
	after := func(id string, on ...string) spec.Task { return spec.Task{ID: id, Role: "reader", DependsOn: on} }
	of := func(set string, t spec.Task) spec.Task { t.ChangeSet = set; return t }
	line := "look first"
	runs := func(l *runtest.Log) { l.Dispatched("a", "generator", 1, "b") }
	is := func(d run.Data) func(*runtest.Log) { return func(l *runtest.Log) { l.Append("", d) } }
	for name, c := range map[string]struct {
		parallel int
		tasks    []spec.Task
		log      func(l *runtest.Log)
		want     map[string]string
	}{
		"a dependency": {4, []spec.Task{task("a"), after("b", "a")}, runs, map[string]string{"b": "waits for a"}},
		"several": {
			4,
			[]spec.Task{task("a"), task("b"), task("c"), task("d"), after("e", "a", "b", "c", "d")},
			func(l *runtest.Log) { l.Append("b", run.TaskData{State: run.TaskLanded}) },
			map[string]string{"e": "waits for a and 2 more"},
		},
		"a template": {
			4, []spec.Task{{ID: "t-001", ShardOf: "t", Role: "reader"}, after("b", "t")}, nil, map[string]string{"b": "waits for t"},
		},
		"a dependency that never will be over": {
			4,
			[]spec.Task{task("a"), task("b"), after("c", "b", "a")},
			func(l *runtest.Log) { l.Append("a", run.TaskData{State: run.TaskParked}) },
			map[string]string{"c": "depends on a, which is parked"},
		},
		"what another one of its set waits for": {
			4,
			[]spec.Task{task("a"), of("s", task("b")), of("s", after("c", "a"))},
			nil,
			map[string]string{"b": "waits for a", "c": "waits for a"},
		},
		"a write set":   {4, []spec.Task{task("a", "x.go"), task("b", "*.go")}, runs, map[string]string{"b": "waits for a, which may write the same files"}},
		"of one before": {4, []spec.Task{task("a", "x.go"), task("b", "*.go")}, nil, map[string]string{"b": "waits for a, which may write the same files"}},
		"a set that was given up": {
			4,
			[]spec.Task{of("s", task("a")), of("s", task("b"))},
			func(l *runtest.Log) { l.Append("a", run.TaskData{State: run.TaskParked}) },
			map[string]string{"b": "its change set was parked with a"},
		},
		"places": {
			2,
			[]spec.Task{task("a"), task("b"), task("c")},
			runs,
			map[string]string{"c": "waits for a place: the run has at most 2 agents at once"},
		},
		"one place": {1, []spec.Task{task("a"), task("b")}, runs, map[string]string{"b": "waits for a place: the run has at most 1 agent at once"}},
		"places of workers": {
			9,
			[]spec.Task{task("a"), task("b")},
			is(run.Data{Crew: run.Crew{"w": {Agents: 1}}}),
			map[string]string{"b": "waits for a place: the run has at most 1 agent at once"},
		},
		"places of a role": {
			4,
			[]spec.Task{task("a"), task("b")},
			func(l *runtest.Log) {
				l.Spec.Roles["generator"] = spec.Role{Name: "generator", Executor: spec.ExecutorModel, Concurrency: 1}
				runs(l)
			},
			map[string]string{"b": "waits for a place: role generator has at most 1 agent at once"},
		},
		"a quota": {
			1,
			[]spec.Task{task("a"), task("b")},
			func(l *runtest.Log) {
				runs(l)
				l.Agent("a", 1, contextscope.KindStarted, wire.Started{Delivery: 1})
				l.Agent("a", 1, contextscope.KindProgress, wire.Progress{Wait: &spec.Wait{For: spec.WaitQuota, Model: "m", Until: time.Unix(900, 0)}})
			},
			map[string]string{"b": "waits for a place: all agents wait for a quota"},
		},
		"a quota that is there again": {
			1,
			[]spec.Task{task("a"), task("b")},
			func(l *runtest.Log) {
				runs(l)
				l.Agent("a", 1, contextscope.KindStarted, wire.Started{Delivery: 1})
				l.Agent("a", 1, contextscope.KindProgress, wire.Progress{Wait: &spec.Wait{For: spec.WaitQuota, Model: "m", Until: time.Unix(7, 0)}})
				l.At(time.Unix(8, 0))
				l.Append("", run.Data{Notices: []string{"later"}})
			},
			map[string]string{"b": "waits for a place: the run has at most 1 agent at once"},
		},
		"the line":          {4, []spec.Task{task("a")}, is(run.Data{Line: &line}), map[string]string{"a": "the line is stopped: look first"}},
		"the machine":       {4, []spec.Task{task("a")}, is(run.Data{State: run.Running, Reason: "paused: no space"}), map[string]string{"a": "paused: no space"}},
		"a run that ended":  {4, []spec.Task{task("a"), after("b", "a")}, is(run.Data{State: run.Stopped}), map[string]string{"a": "the run is stopped", "b": "the run is stopped"}},
		"preflight":         {4, []spec.Task{task("a")}, is(run.Data{State: run.Preflight}), map[string]string{"a": "waits for the end of the phase preflight"}},
		"nothing":           {4, []spec.Task{task("a"), task("b")}, nil, map[string]string{}},
		"a task at work":    {4, []spec.Task{task("a")}, runs, map[string]string{}},
		"during the survey": {4, []spec.Task{task("a")}, is(run.Data{State: run.Planning}), map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, c.parallel, c.tasks...)
			if c.log != nil {
				c.log(l)
			}
			require.Equal(t, c.want, schedule.Why(l.State))
		})
	}
}

func TestWhyShardsWait(t *testing.T) {
	t.Parallel()
	l := template(t, 5, func(*spec.Task) {})
	first := "waits for the gates to pass on one of the first shards of t"
	require.Equal(t, map[string]string{"t-004": first, "t-005": first}, schedule.Why(l.State))
	begin(l, 1, 2, 3)
	for n := range 3 {
		fail(l, n+1)
	}
	l.Append("", run.Data{Decision: &run.Decided{Hold: &run.Hold{Template: "t"}}})
	require.Len(t, schedule.Why(l.State), 5)
	require.Equal(t, "template t is held and waits for a decision", schedule.Why(l.State)["t-001"])
}

func TestWhyAPlanOfTheMasterWaits(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Base: "b", Roles: runtest.Roles(), Parallel: 4}, run.Running)
	l.Append("", run.PlanData{By: "master/1", Tasks: []spec.Task{{ID: "a", Role: "generator"}}})
	require.Equal(t, map[string]string{"a": "its plan waits for approval"}, schedule.Why(l.State))
	l.Append("", run.Data{Decision: &run.Decided{Kind: run.DecidePlan, Closed: true, Answer: run.Answer{Option: run.Yes}}})
	require.Empty(t, schedule.Why(l.State))
}

// A task has a reason, or it is ready, and not both.
func TestWhyAndReadyAgree(t *testing.T) {
	t.Parallel()
	l := newLog(t, 3, spec.Task{ID: "a", Role: "reader"}, spec.Task{ID: "b", Role: "generator", Files: []string{"x"}},
		spec.Task{ID: "c", Role: "generator", Files: []string{"x"}}, spec.Task{ID: "d", Role: "reader", DependsOn: []string{"zz"}},
		spec.Task{ID: "e", Role: "reader"}, spec.Task{ID: "f", Role: "reader"})
	for range 6 {
		ready, unreachable := schedule.Ready(l.State)
		why := schedule.Why(l.State)
		pending := 0
		for range l.Tasks.In(run.TaskPending) {
			pending++
		}
		require.Len(t, why, pending-len(ready))
		for _, id := range ready {
			require.NotContains(t, why, id)
		}
		for id, reason := range unreachable {
			require.Equal(t, reason, why[id])
		}
		if len(ready) == 0 {
			break
		}
		l.Dispatched(ready[0], l.Tasks.ByID[ready[0]].Task.Role, 1, "b")
	}
}
