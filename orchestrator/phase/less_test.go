package phase

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// A run that did less than it was asked for tells so, and is not done.
func TestLess(t *testing.T) {
	t.Parallel()
	task := func(id, of, role string, state run.TaskState, files ...string) *run.Task {
		return &run.Task{Task: spec.Task{ID: id, ShardOf: of, Role: role, Files: files}, State: state}
	}
	refused := func(of string) *run.Request {
		return &run.Request{Of: of, Request: wire.Request{Paths: []string{"go.mod"}}, Answer: &wire.Answer{Refused: "another task has it"}}
	}
	left := run.LeftOut{Template: "t", Kind: "protected file", Files: []string{"a.yml", "b.yml"}}
	for name, c := range map[string]struct {
		tasks    []*run.Task
		left     []run.LeftOut
		requests run.Requests
		twin     *run.Twin
		want     string
	}{
		"the same in the user's shell": {twin: &run.Twin{Equal: []string{"test"}}},
		"not the same in that": {
			twin: &run.Twin{Differences: []run.Difference{{What: "test: red in your shell", Do: "x"}}, Equal: []string{"build"}},
			want: "proven in the sandbox, and not in your own shell: test: red in your shell",
		},
		"all landed":                     {tasks: []*run.Task{task("a", "", "writes", run.TaskLanded)}},
		"a task without effect":          {tasks: []*run.Task{task("a", "", "writes", run.TaskDone), task("b", "", "writes", run.TaskLanded)}, want: "1 task changed no file: a"},
		"a task that only reads":         {tasks: []*run.Task{task("a", "", "reads", run.TaskDone)}},
		"a task that was given up":       {tasks: []*run.Task{task("a", "", "writes", run.TaskSkipped)}},
		"a shard that has nothing to do": {tasks: []*run.Task{task("t-1", "t", "writes", run.TaskDone), task("t-2", "t", "writes", run.TaskLanded)}},
		"a template of such shards":      {tasks: []*run.Task{task("t-1", "t", "writes", run.TaskDone), task("t-2", "t", "writes", run.TaskDone)}, want: "1 task changed no file: t"},
		"what its agent had others do": {
			tasks:    []*run.Task{task("a", "", "writes", run.TaskDone)},
			requests: run.Requests{Of: map[string][]*run.Request{"a": {{Child: "b"}}}},
		},
		"protected files":                   {left: []run.LeftOut{left}, want: "t left out 2 protected files: a.yml, b.yml"},
		"protected files, one with a task":  {left: []run.LeftOut{left}, tasks: []*run.Task{task("a", "", "writes", run.TaskLanded, "b.yml")}, want: "t left out 1 protected file: a.yml"},
		"protected files, each with a task": {left: []run.LeftOut{left}, tasks: []*run.Task{task("a", "", "writes", run.TaskLanded, "a.yml", "b.yml")}},
		"a refused file": {
			tasks:    []*run.Task{task("a", "", "writes", run.TaskLanded)},
			requests: run.Requests{Refused: []*run.Request{refused("a")}},
			want:     "a was refused to write go.mod: another task has it",
		},
		"a refused file of a task that is parked": {tasks: []*run.Task{task("a", "", "writes", run.TaskParked)}, requests: run.Requests{Refused: []*run.Request{refused("a")}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &run.State{Agents: run.Agents{Requests: c.requests}}
			s.Spec.Roles = map[string]spec.Role{"writes": {Writes: true}, "reads": {}}
			s.Tasks.ByID = map[string]*run.Task{}
			for _, one := range c.tasks {
				s.Tasks.Order, s.Tasks.ByID[one.Task.ID] = append(s.Tasks.Order, one.Task.ID), one
			}
			s.Twin = c.twin
			s.Plans.All = []run.PlanData{{LeftOut: c.left}}
			require.Equal(t, c.want, strings.Join(less(s), "; "))
		})
	}
}
