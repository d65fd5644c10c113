package phase

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Shards that failed one by one in files of each other are tested as one, once; a shard that fails by itself is not among them.
func TestShardsThatFailInFilesOfEachOtherAreTestedAsOne(t *testing.T) {
	t.Parallel()
	roles := map[string]spec.Role{"sed": {Executor: spec.ExecutorCommand, Writes: true, Command: []string{"sed", spec.ArgFiles}}}
	l := runtest.New(t, run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: roles, Parallel: 4}, run.Running)
	fails := map[string]string{"s-1": "test: b.py:3: no name", "s-2": "test: b.py:7: no name", "s-3": "test: c.py:1: no name"}
	files := map[string]string{"s-1": "a.py", "s-2": "b.py", "s-3": "c.py"}
	ids := []string{"s-1", "s-2", "s-3"}
	var tasks []spec.Task
	for _, id := range ids {
		tasks = append(tasks, spec.Task{ID: id, ShardOf: "s", Role: "sed", Files: []string{files[id]}})
	}
	l.Plan(tasks...)
	require.Empty(t, joint(l.State))
	for _, id := range ids {
		l.Dispatched(id, "sed", 1, "b")
		r := runtest.Patched("c-"+id, "t", "b")
		r.Patch.Files = []string{files[id]}
		l.Ended(id, 1, r)
		f := spec.Fault{Class: wire.FaultGate, Message: "red", Signatures: []string{fails[id]}}
		l.Append(id, run.TaskData{State: run.TaskParked, Fault: &f})
	}
	l.Do(joint(l.State))
	of := func(id string) (run.TaskState, string) {
		return l.Tasks.ByID[id].State, l.Tasks.ByID[id].Task.ChangeSet
	}
	for id, set := range map[string]string{"s-1": "s-1", "s-2": "s-1", "s-3": ""} {
		state, in := of(id)
		require.Equal(t, set, in, id)
		require.Equal(t, set == "", state == run.TaskParked, id)
	}
	require.Len(t, l.Tasks.Sets["s-1"].Members, 2)
	require.Nil(t, l.Tasks.Sets["s-1"].Lost)
	for _, id := range ids[:2] {
		f := spec.Fault{Class: wire.FaultGate, Message: "red", Signatures: []string{fails[id]}}
		l.Append(id, run.TaskData{State: run.TaskParked, Fault: &f})
	}
	require.Empty(t, joint(l.State), "once")
}
