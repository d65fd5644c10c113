package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
	"divisi/subagents/wire"
)

func newLog(t *testing.T, parallel int, tasks ...spec.Task) *runtest.Log {
	t.Helper()
	l := runtest.New(t, run.Spec{
		Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles(), Parallel: parallel, Created: time.Unix(0, 0),
	}, run.Running)
	l.Plan(tasks...)
	return l
}

func TestDispatch(t *testing.T) {
	t.Parallel()
	task := func(id string, files ...string) spec.Task { return spec.Task{ID: id, Role: "generator", Files: files} }
	after := func(id string, on ...string) spec.Task { return spec.Task{ID: id, Role: "reader", DependsOn: on} }
	of := func(set string, t spec.Task) spec.Task { t.ChangeSet = set; return t }
	for name, c := range map[string]struct {
		parallel int
		tasks    []spec.Task
		log      func(l *runtest.Log)
		want     []string
	}{
		"at the end of the budget what costs nothing": {
			1,
			[]spec.Task{task("a"), {ID: "b", Role: "codemod", Files: []string{"b.go"}}, task("c")},
			func(l *runtest.Log) { l.Append("", run.Data{Budget: new(spec.Tokens(100)), Said: run.WrapUp}) },
			[]string{"assign b/1 to codemod on b"},
		},
		"in plan order up to the cap": {
			2,
			[]spec.Task{task("a"), task("b"), task("c")},
			nil,
			[]string{"assign a/1 to generator on b", "assign b/1 to generator on b"},
		},
		"write sets take turns": {
			4,
			[]spec.Task{task("a", "x.go"), task("b", "*.go"), task("c", "y.txt")},
			nil,
			[]string{"assign a/1 to generator on b", "assign c/1 to generator on b"},
		},
		"a dependency that waits": {4, []spec.Task{task("a"), after("b", "a")}, nil, []string{"assign a/1 to generator on b"}},
		"a dependency that landed": {
			4,
			[]spec.Task{task("a"), after("b", "a")},
			func(l *runtest.Log) { l.Append("a", run.TaskData{State: run.TaskLanded}) },
			[]string{"assign b/1 to reader on b"},
		},
		"a dependency that was given up": {
			4,
			[]spec.Task{task("a"), after("b", "a"), after("c", "b")},
			func(l *runtest.Log) { l.Append("a", run.TaskData{State: run.TaskParked}) },
			[]string{"task b parked depends on a, which is parked"},
		},
		"a template with a lost shard": {
			4,
			[]spec.Task{{ID: "t-001", ShardOf: "t", Role: "reader"}, {ID: "t-002", ShardOf: "t", Role: "reader"}, after("b", "t")},
			func(l *runtest.Log) {
				l.Append("t-001", run.TaskData{State: run.TaskDone})
				l.Append("t-002", run.TaskData{State: run.TaskCancelled})
			},
			[]string{"task b parked depends on t-002, which is cancelled"},
		},
		"a template that is over": {
			4,
			[]spec.Task{{ID: "t-001", ShardOf: "t", Role: "reader"}, after("b", "t")},
			func(l *runtest.Log) { l.Append("t-001", run.TaskData{State: run.TaskDone}) },
			[]string{"assign b/1 to reader on b"},
		},
		"a set begins when all of it can": {
			4,
			[]spec.Task{task("x", "x.go"), of("s", task("a", "a.go")), of("s", task("b", "x.go")), task("c", "c.go")},
			nil,
			[]string{"assign x/1 to generator on b", "assign c/1 to generator on b"},
		},
		"a set waits for what one of it waits for": {
			4,
			[]spec.Task{after("x"), of("s", task("a")), of("s", after("b", "x"))},
			nil,
			[]string{"assign x/1 to reader on b"},
		},
		"a set is lost with what one of it waits for": {
			4,
			[]spec.Task{after("x"), of("s", task("a")), of("s", after("b", "x"))},
			func(l *runtest.Log) { l.Append("x", run.TaskData{State: run.TaskParked}) },
			[]string{"task a parked depends on x, which is parked", "task b parked depends on x, which is parked"},
		},
		"a set that has begun locks all of its files": {
			2,
			[]spec.Task{of("s", task("a", "a.go")), of("s", task("b", "b.go")), task("c", "b.go"), of("s", task("d", "d.go"))},
			func(l *runtest.Log) { l.Dispatched("a", "generator", 1, "b") },
			[]string{"assign b/1 to generator on b"},
		},
		"two sets that need the same files begin one after the other": {
			8,
			[]spec.Task{of("s", task("a", "a.go")), of("u", task("b", "b.go")), of("s", task("c", "b.go")), of("u", task("d", "a.go"))},
			nil,
			[]string{"assign a/1 to generator on b", "assign c/1 to generator on b"},
		},
		"a task that is added to a set goes after one that locks its file": {
			4,
			[]spec.Task{task("a", "a.go"), of("s", task("b", "b.go")), of("s", task("c", "a.go"))},
			func(l *runtest.Log) {
				l.Dispatched("a", "generator", 1, "b")
				l.Dispatched("b", "generator", 1, "b")
				l.Append("a", run.TaskData{State: run.TaskPending})
			},
			[]string{"assign a/2 to generator on b"},
		},
		"an unknown dependency": {4, []spec.Task{after("b", "x")}, nil, []string{"task b parked depends on x, which is not in the plan"}},
		"a run that stopped": {
			4, []spec.Task{task("a")}, func(l *runtest.Log) { l.Append("", run.Data{State: run.Stopped}) }, []string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, c.parallel, c.tasks...)
			if c.log != nil {
				c.log(l)
			}
			require.Equal(t, c.want, runtest.Describe(schedule.Dispatch(l.State)))
		})
	}
}

// What an attempt uses is a fact of the log.
func TestAnAttemptHasTheExecutorAndTheModelOfItsRung(t *testing.T) {
	t.Parallel()
	l := newLog(t, 4, spec.Task{ID: "t", Role: "r"})
	l.Spec.Roles["r"] = spec.Role{
		Name: "r", Executor: spec.ExecutorCommand, Chain: []string{spec.ExecutorModel}, Thinking: "LOW", Fallback: []string{"x"},
	}
	l.Spec.Project.Models = map[string]spec.Model{"default": {Name: "d", Stronger: "strong"}, "strong": {Name: "s"}}
	red := spec.Fault{Class: wire.FaultGate, Message: "red"}
	l.Dispatched("t", "r", 1, "b")
	require.Equal(t, spec.ExecutorCommand, l.Spec.Made(l.Tasks.ByID["t"], l.Works).Executor)
	for n := 2; n < 5; n++ { // one step
		l.Append("t", run.TaskData{State: run.TaskPending, Fault: &red, Choice: &run.Choice{At: 1}})
		l.Dispatched("t", "r", n, "b")
		require.Equal(t, spec.ExecutorModel, l.Spec.Made(l.Tasks.ByID["t"], l.Works).Executor, n)
		require.Empty(t, l.Spec.Made(l.Tasks.ByID["t"], l.Works).Model, n)
	}
	l.Append("t", run.TaskData{State: run.TaskPending, Fault: &red, Choice: &run.Choice{At: 2, Uses: "strong", Why: "the same failure twice"}})
	require.Equal(t, []string{"assign t/5 to r on b uses strong: the same failure twice"}, runtest.Describe(schedule.Dispatch(l.State)))
	l.Dispatched("t", "r", 5, "b")
	made := l.Spec.Made(l.Tasks.ByID["t"], l.Works)
	require.Equal(t, []string{spec.ExecutorModel, "strong", "", ""}, append([]string{made.Executor, made.Model, made.Thinking, ""}, made.Fallback...))
}
