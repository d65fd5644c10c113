package recovery_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// A task that is given up for a file outside its write set reports how the file gets into one.
func TestAWriteSetThatIsTooSmallNamesTheWayOut(t *testing.T) {
	t.Parallel()
	fault := wire.Refuse(spec.WriteSet{Files: []string{"a.go"}, Protected: []string{"**/Makefile"}},
		&spec.Patch{Files: []string{"a.go", "b.go", "Makefile"}})
	require.Equal(t, "b.go is outside this task's write set: a.go (and 1 more of 3 changed files)", fault.Message)
	require.Contains(t, fault.Detail, "Makefile is outside this task's write set, and protected (**/Makefile)")
	for name, c := range map[string]struct {
		task  spec.Task
		alone bool
		want  string
	}{
		"a task": {spec.Task{}, false, "add its path to files of this task in the plan; then retry it in run r1"},
		"a shard": {spec.Task{ShardOf: "s"}, false, "add a task with its path in files to the plan, or have the shard rule of s find it " +
			"(glob, match), which finds no protected file; then retry it in run r1"},
		"with a master":          {spec.Task{}, true, "dispatch a task with its path in files"},
		"of a set with a master": {spec.Task{ChangeSet: "s"}, true, "dispatch a task with change_set: s and its path in files"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := &spec.Plan{}
			if c.alone {
				plan = nil
			}
			l := runtest.New(t, run.Spec{Run: "r1", Base: "b", Plan: plan, Roles: runtest.Roles(), Parallel: 1}, run.Running)
			c.task.ID, c.task.Role, c.task.Attempts = "t", "generator", 1
			l.Plan(c.task)
			l.Dispatched("t", "generator", 1, "b")
			d := recovery.After(&l.Agenda, l.Works, l.Tasks.ByID["t"], *fault)
			require.Equal(t, run.TaskParked, d.State)
			require.Equal(t, "failed 1 of 1 attempts: "+fault.Message+". If it must change, "+c.want, d.Reason)
		})
	}
}
