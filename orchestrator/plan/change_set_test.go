package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
)

func TestTasksOfAChangeSet(t *testing.T) {
	t.Parallel()
	tree := memTree{files: map[string]string{"a.go": "old", "b.go": "old", "c.go": "new"}}
	st := run.NewState()
	st.Spec.Roles = map[string]spec.Role{"mod": {Name: "mod", Executor: spec.ExecutorCommand, Writes: true, Command: []string{"true"}}}
	shard := spec.Task{ID: "move", Role: "mod", Brief: "b", Together: true, Shard: &spec.Shard{By: "file", Match: "old"}}
	data, problems, err := Prepare(t.Context(), spec.Plan{Tasks: []spec.Task{shard}}, &st.Agenda, st.Works, tree)
	require.NoError(t, err)
	require.Empty(t, problems)
	require.Len(t, data.Tasks, 2)
	require.Equal(t, "move", data.Tasks[1].ChangeSet)
	require.False(t, data.Tasks[1].Together)

	wide := spec.Task{ID: "wide", Role: "mod", Brief: "b", Files: []string{"*.go"}, ChangeSet: "move"}
	_, problems, err = Prepare(t.Context(), spec.Plan{Tasks: []spec.Task{shard, wide}}, &st.Agenda, st.Works, tree)
	require.NoError(t, err)
	require.Len(t, problems, 2)
	require.Equal(t, "tasks: move-001 and wide of change set move may both write a.go: give each file to one of them", problems[0].String())
}

// A set at work holds its files: a task that is added to it waits for nothing that may wait for them.
func TestWhatIsAddedToASetAtWork(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Base: "b", Plan: &spec.Plan{}, Roles: runtest.Roles(), Parallel: 4}, run.Running)
	l.Plan(
		spec.Task{ID: "a", Role: "generator", Files: []string{"a.go"}, ChangeSet: "s"},
		spec.Task{ID: "b", Role: "generator", Files: []string{"b.go"}, ChangeSet: "u"},
		spec.Task{ID: "x", Role: "generator", Files: []string{"a.go"}},
		spec.Task{ID: "over", Role: "generator", Files: []string{"over.go"}},
	)
	l.Append("over", run.TaskData{State: run.TaskLanded})
	more := func(on string, files ...string) []string {
		task := spec.Task{ID: "more", Role: "generator", Files: files, ChangeSet: "s"}
		if on != "" {
			task.DependsOn = []string{on}
		}
		out := []string{}
		for _, p := range closedSets(spec.Plan{Tasks: []spec.Task{task}}, &l.Tasks, false) {
			out = append(out, p.String())
		}
		return out
	}
	require.Empty(t, more("x", "b.go"), "it has not begun")
	l.Dispatched("a", "generator", 1, "b")
	require.Empty(t, more("over", "b.go"))
	require.Equal(t, []string{
		"tasks[0].change_set: no task can be added to change set s: it has begun, and x, which more waits for, has not ended",
	}, more("x", "c.go"))
	l.Dispatched("b", "generator", 1, "b")
	require.Equal(t, []string{
		"tasks[0].change_set: no task can be added to change set s: it has begun, and b may write b.go: add more when that one has ended",
	}, more("", "b.go"))
}
