package schedule_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
	"divisi/subagents/wire"
)

// template is a run with a template of n shards, as change makes them.
func template(t *testing.T, n int, change func(*spec.Task)) *runtest.Log {
	t.Helper()
	roles := runtest.Roles()
	roles["codemod"] = spec.Role{Name: "codemod", Executor: spec.ExecutorCommand}
	roles["agent"] = spec.Role{Name: "agent", Executor: spec.ExecutorCommand, Usage: spec.AgentClaude}
	roles["both"] = spec.Role{
		Name: "both", Executor: spec.ExecutorCommand, Chain: []string{spec.ExecutorModel}, Writes: true,
	}
	s := run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: roles, Parallel: 100}
	s.Project.Gates = []spec.Gate{{Name: "test"}}
	l := runtest.New(t, s, run.Running)
	var tasks []spec.Task
	for i := range n {
		task := spec.Task{ID: shard(i + 1), ShardOf: "t", Role: "generator"}
		change(&task)
		tasks = append(tasks, task)
	}
	l.Plan(tasks...)
	return l
}

func shard(n int) string { return fmt.Sprintf("t-%03d", n) }

func begin(l *runtest.Log, shards ...int) {
	for _, n := range shards {
		t := l.Tasks.ByID[shard(n)]
		l.Dispatched(shard(n), t.Task.Role, t.Attempt+1, "b")
	}
}

func fail(l *runtest.Log, n int) {
	id := shard(n)
	l.Ended(id, l.Tasks.ByID[id].Attempt, runtest.Failed("x", "y"))
	l.Do(recovery.Failed(&l.Agenda, &l.Agents, l.Tasks.ByID[id], spec.Fault{Class: wire.FaultGate, Message: fmt.Sprint("red", n)}))
}

func state(l *runtest.Log, to run.TaskState, shards ...int) {
	for _, n := range shards {
		l.Append(shard(n), run.TaskData{State: to})
	}
}

func TestCanary(t *testing.T) {
	t.Parallel()
	same := func(*spec.Task) {}
	slow := func(l *runtest.Log) {
		l.Append("", run.Data{Baseline: []spec.Receipt{{Gate: "test", Verdict: spec.VerdictPass, Duration: time.Minute + 1}}})
	}
	for name, c := range map[string]struct {
		shards int
		change func(*spec.Task)
		log    func(l *runtest.Log)
		want   []int
	}{
		"three are first": {40, same, nil, []int{1, 2, 3}},
		"while they are at work no other begins": {
			40, same,
			func(l *runtest.Log) { begin(l, 1, 2, 3); state(l, run.TaskAccepted, 2); state(l, run.TaskLanding, 2) },
			nil,
		},
		"one has landed": {
			6, same, func(l *runtest.Log) { begin(l, 1, 2, 3); state(l, run.TaskLanded, 2) }, []int{4, 5, 6},
		},
		"one that failed waits for those that have not": {6, same, func(l *runtest.Log) { begin(l, 1, 2, 3); fail(l, 1) }, nil},
		"and begins again when they have": {
			6, same, func(l *runtest.Log) { begin(l, 1, 2, 3); fail(l, 1); fail(l, 3); fail(l, 2) }, []int{1, 2, 3},
		},
		"beside those that failed too": {
			6, same, func(l *runtest.Log) { begin(l, 1, 2, 3); fail(l, 1); fail(l, 3); fail(l, 2); begin(l, 1) }, []int{2, 3},
		},
		"one is given up": {6, same, func(l *runtest.Log) { begin(l, 1, 2, 3); state(l, run.TaskParked, 1) }, []int{4}},
		"a patch that waits for a person": {
			6, same, func(l *runtest.Log) { begin(l, 1, 2, 3); state(l, run.TaskHeld, 1, 2) }, []int{4, 5},
		},
		"under review a person sees the first before others begin": {
			6, same,
			func(l *runtest.Log) { l.Spec.Review = true; begin(l, 1, 2, 3); state(l, run.TaskHeld, 1, 2, 3) },
			nil,
		},
		"and the others begin when one of these has landed": {
			6, same,
			func(l *runtest.Log) {
				l.Spec.Review = true
				begin(l, 1, 2, 3)
				state(l, run.TaskHeld, 1, 2)
				state(l, run.TaskLanded, 3)
			},
			[]int{4, 5, 6},
		},
		"as many have nothing to change": {
			6, same, func(l *runtest.Log) { begin(l, 1, 2, 3); state(l, run.TaskDone, 1, 2, 3) }, []int{4, 5, 6},
		},
		"fewer have": {6, same, func(l *runtest.Log) { begin(l, 1, 2, 3); state(l, run.TaskDone, 1, 2) }, []int{4, 5}},
		"one was interrupted": {
			6, same, func(l *runtest.Log) { begin(l, 1, 2, 3); state(l, run.TaskPending, 1) }, []int{1},
		},
		"a corrected brief": {
			6, same,
			func(l *runtest.Log) {
				begin(l, 1, 2, 3)
				for _, id := range l.Tasks.Order {
					l.Append(id, run.TaskData{State: run.TaskPending, Revision: &run.Revision{By: "user:ada", Comment: "x"}})
				}
			},
			[]int{1, 2, 3},
		},
		"a person lets them go on": {
			6, same,
			func(l *runtest.Log) {
				begin(l, 1, 2, 3)
				fail(l, 1)
				l.Append("", run.Data{Decision: &run.Decided{Hold: &run.Hold{Template: "t"}}})
				l.Append("", run.Data{Decision: &run.Decided{
					Kind: run.DecideTemplate, About: "t", Closed: true, Answer: run.Answer{Option: run.Accept},
				}})
			},
			[]int{1, 4, 5, 6},
		},
		"gates of more than a minute":        {41, same, slow, []int{1, 2, 3, 4, 5}},
		"gates of more than a minute, a few": {12, same, slow, []int{1, 2, 3}},
		"as many as the template allows":     {6, func(t *spec.Task) { t.Canary = 4 }, slow, []int{1, 2, 3, 4}},
		"commands":                           {5, func(t *spec.Task) { t.Role = "codemod" }, nil, []int{1, 2, 3, 4, 5}},
		"coding agents":                      {5, func(t *spec.Task) { t.Role = "agent" }, nil, []int{1, 2, 3}},
		"a coding agent has landed one": {
			5, func(t *spec.Task) { t.Role = "agent" },
			func(l *runtest.Log) { begin(l, 1, 2, 3); state(l, run.TaskLanded, 2) },
			[]int{4, 5},
		},
		"a coding agent that failed waits": {
			5, func(t *spec.Task) { t.Role = "agent" }, func(l *runtest.Log) { begin(l, 1, 2, 3); fail(l, 1) }, nil,
		},
		"agents that change nothing": {5, func(t *spec.Task) { t.Role = "reader" }, nil, []int{1, 2, 3, 4, 5}},
		"a change set":               {5, func(t *spec.Task) { t.ChangeSet = "t" }, nil, []int{1, 2, 3, 4, 5}},
		"commands before models":     {5, func(t *spec.Task) { t.Role = "both" }, nil, []int{1, 2, 3, 4, 5}},
		"commands before models, which failed": {
			5, func(t *spec.Task) { t.Role = "both" },
			func(l *runtest.Log) {
				begin(l, 1, 2, 3, 4, 5)
				for n := range 5 {
					fail(l, n+1)
				}
			},
			[]int{1, 2, 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := template(t, c.shards, c.change)
			if c.log != nil {
				c.log(l)
			}
			var want []string
			for _, n := range c.want {
				want = append(want, shard(n))
			}
			ready, _ := schedule.Ready(l.State)
			require.Equal(t, want, ready)
		})
	}
}
