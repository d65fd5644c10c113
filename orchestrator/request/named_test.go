package request

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Neither a rule nor an agent names a file: what only a person and the master may have changed is asked about.
func TestOnlyAPersonAndTheMasterNameFiles(t *testing.T) {
	t.Parallel()
	l := asking(t, wire.Request{Kind: wire.RequestScope, Paths: []string{"check.sh"}})
	had := l.Tasks.ByID["t"].Named
	require.Equal(t, l.Tasks.ByID["t"].Task.Files, had, "the author of the plan wrote them")
	l.Append("t", wire.Answer{Request: "t/1/scope-1-0", Granted: []string{"check.sh"}})
	require.Contains(t, l.Tasks.ByID["t"].Task.Files, "check.sh")
	require.Equal(t, had, l.Tasks.ByID["t"].Named, "its agent asked for it")

	files := []string{"check.sh"}
	l.Append("t", run.TaskData{State: run.TaskPending, Revision: &run.Revision{By: wire.Person("ada"), Files: &files}})
	require.Equal(t, files, l.Tasks.ByID["t"].Named, "a person wrote it")

	l.Plan(spec.Task{ID: "s-001", ShardOf: "s", Role: "generator", Files: files})
	require.Empty(t, l.Tasks.ByID["s-001"].Named, "a rule found it")

	l = refused(t, "check.sh")
	l.Append("t", run.TaskData{State: run.TaskLanded})
	ask := Follow(l.State)[0].(run.Expand)
	l.Do(ask.Then(run.PlanData{Tasks: ask.Plan.Tasks}, nil))
	require.Equal(t, files, l.Tasks.ByID["t-follows-1-0"].Task.Files)
	require.Empty(t, l.Tasks.ByID["t-follows-1-0"].Named, "an agent asked for it")
}
