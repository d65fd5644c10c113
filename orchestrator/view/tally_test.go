package view

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/run"
	"divisi/orchestrator/view/stats"
)

func TestProgressCountsTasksWithoutTheMaster(t *testing.T) {
	t.Parallel()
	require.Equal(t, "1 of 2 landed, 1 without a change", (&Report{Tasks: []Task{
		{ID: run.MasterTask, State: run.TaskDone}, {ID: "a", State: run.TaskLanded}, {ID: "b", State: run.TaskDone},
	}}).Progress())
}

func TestProgressTellsWhatAPersonIsWaitedFor(t *testing.T) {
	t.Parallel()
	const want = "0 of 0 landed; waits for an answer to a/1: which?"
	require.Equal(t, want, (&Report{State: run.Running, Wait: "an answer to a/1: which?"}).Progress())
	require.Equal(t, want, (&Report{
		State: run.Stopped, Reason: "waits for an answer to a/1: which? (answer: divisi send r/a; then: divisi resume r)",
	}).Progress())
}

func TestTallyTellsTheUnverifiedApart(t *testing.T) {
	t.Parallel()
	n := stats.Counts{run.TaskLanded: 7, run.TaskParked: 1}
	require.Equal(t, "7 landed, 1 parked", TallyOf(n, 0))
	require.Equal(t, "3 landed, 4 landed unverified, 1 parked", TallyOf(n, 4))
	require.Equal(t, "7 landed unverified, 1 parked", TallyOf(n, 7))
}
