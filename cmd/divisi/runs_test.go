package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/report"
	"divisi/orchestrator/run"
)

func TestProgressCountsTasksWithoutTheMaster(t *testing.T) {
	t.Parallel()
	require.Equal(t, "1 of 2 landed, 1 without a change", progressOf(report.Report{Tasks: []report.Task{
		{ID: run.MasterTask, State: run.TaskDone}, {ID: "a", State: run.TaskLanded}, {ID: "b", State: run.TaskDone},
	}}))
}
