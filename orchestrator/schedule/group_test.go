package schedule_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
)

// shards are tasks of a template whose role joins.
func shards(template string, n int, change func(*spec.Task)) []spec.Task {
	tasks := make([]spec.Task, n)
	for i := range tasks {
		tasks[i] = spec.Task{
			ID: spec.ShardID(template, i+1), ShardOf: template, Role: "mod", Files: []string{fmt.Sprint(template, i)}, Command: []string{"mod", spec.ArgFiles},
		}
		change(&tasks[i])
	}
	return tasks
}

func TestAGroupIsOneAgent(t *testing.T) {
	t.Parallel()
	role := spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Command: []string{"mod", spec.ArgFiles}, Writes: true, Join: true}
	same := func(*spec.Task) {}
	other := []spec.Task{{ID: "x", Role: "reader"}, {ID: "y", Role: "reader"}}
	for name, c := range map[string]struct {
		role   func(*spec.Role)
		tasks  []spec.Task
		before []string
		want   int
		groups int
	}{
		"all shards of a template":   {nil, shards("t", 9, same), nil, 9, 9},
		"beside other agents":        {nil, append(shards("t", 9, same), other...), nil, 10, 9},
		"two templates":              {nil, slices.Concat(shards("t", 9, same), shards("u", 3, same), other), nil, 12, 12},
		"a cap of the role":          {func(r *spec.Role) { r.Concurrency = 1 }, slices.Concat(shards("t", 9, same), shards("u", 3, same)), nil, 9, 9},
		"no more than can be kept":   {nil, shards("t", 300, same), nil, 256, 256},
		"a role that does not join":  {func(r *spec.Role) { r.Join = false }, shards("t", 9, same), nil, 2, 0},
		"a command of its own":       {nil, shards("t", 9, func(t *spec.Task) { t.Command = []string{"sed", spec.ArgFiles} }), nil, 2, 0},
		"inputs":                     {nil, append(shards("t", 9, func(t *spec.Task) { t.Inputs = []string{"x"} }), other...), nil, 2, 0},
		"no shard":                   {nil, shards("t", 9, func(t *spec.Task) { t.ShardOf = "" }), nil, 2, 0},
		"a second attempt":           {nil, shards("t", 1, same), []string{"t-001"}, 1, 0},
		"a second attempt among all": {nil, shards("t", 9, same), []string{"t-001"}, 9, 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t, 2, c.tasks...)
			role := role
			if c.role != nil {
				c.role(&role)
			}
			l.Spec.Roles["mod"] = role
			for _, id := range c.before {
				l.Dispatched(id, "mod", 1, "b")
				l.Ended(id, 1, spec.Result{Status: spec.StatusFailed, Error: &spec.Fault{Class: "gate", Message: "red"}})
				l.Append(id, run.TaskData{State: run.TaskPending, Fault: &spec.Fault{Class: "gate", Message: "red"}})
			}
			actions := schedule.Dispatch(l.State)
			require.Len(t, actions, c.want)
			groups := 0
			for _, a := range actions {
				if assign, ok := a.(run.Assign); ok && assign.Dispatch.Group != "" {
					groups++
				}
			}
			require.Equal(t, c.groups, groups)
			l.Do(actions)
			agents, _ := l.Queue.AtWork()
			require.LessOrEqual(t, agents, 2)
			require.Empty(t, schedule.Dispatch(l.State), "all places are taken")
		})
	}
}
