package console

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
)

func TestProgressCountsTasksWithoutTheMaster(t *testing.T) {
	t.Parallel()
	require.Equal(t, "1 of 2 landed, 1 without a change", progress(&view.Report{Tasks: []view.Task{
		{ID: run.MasterTask, State: run.TaskDone}, {ID: "a", State: run.TaskLanded}, {ID: "b", State: run.TaskDone},
	}}))
}

func TestProgressTellsWhatAPersonIsWaitedFor(t *testing.T) {
	t.Parallel()
	const want = "0 of 0 landed; waits for an answer to a/1: which?"
	require.Equal(t, want, progress(&view.Report{State: run.Running, Wait: "an answer to a/1: which?"}))
	require.Equal(t, want, progress(&view.Report{
		State: run.Stopped, Reason: "waits for an answer to a/1: which? (answer: divisi send r/a; then: divisi resume r)",
	}))
}
