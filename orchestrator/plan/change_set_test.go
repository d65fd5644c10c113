package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

func TestTasksOfAChangeSet(t *testing.T) {
	t.Parallel()
	tree := memTree{files: map[string]string{"a.go": "old", "b.go": "old", "c.go": "new"}}
	st := run.NewState()
	st.Spec.Roles = map[string]spec.Role{"mod": {Name: "mod", Executor: spec.ExecutorCommand, Writes: true, Command: []string{"true"}}}
	shard := spec.Task{ID: "move", Role: "mod", Brief: "b", Together: true, Shard: &spec.Shard{By: "file", Match: "old"}}
	data, problems, err := Prepare(t.Context(), spec.Plan{Tasks: []spec.Task{shard}}, st, tree)
	require.NoError(t, err)
	require.Empty(t, problems)
	require.Len(t, data.Tasks, 2)
	require.Equal(t, "move", data.Tasks[1].ChangeSet)
	require.False(t, data.Tasks[1].Together)

	wide := spec.Task{ID: "wide", Role: "mod", Brief: "b", Files: []string{"*.go"}, ChangeSet: "move"}
	_, problems, err = Prepare(t.Context(), spec.Plan{Tasks: []spec.Task{shard, wide}}, st, tree)
	require.NoError(t, err)
	require.Len(t, problems, 2)
	require.Equal(t, "tasks: move-001 and wide of change set move may both write a.go: give each file to one of them", problems[0].String())
}
