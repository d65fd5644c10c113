package run_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
)

func TestAChangeSetIsQueuedAsOnePatch(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Roles: runtest.Roles(), Plan: &spec.Plan{}}, run.Running)
	l.Plan(spec.Task{ID: "a", Role: "generator", ChangeSet: "s"}, spec.Task{ID: "b", Role: "generator", ChangeSet: "s"},
		spec.Task{ID: "c", Role: "generator"})
	for _, id := range l.Tasks.Order {
		l.Append(id, run.TaskData{State: run.TaskAccepted})
	}
	require.Equal(t, 2, l.Tasks.Queued)
}
