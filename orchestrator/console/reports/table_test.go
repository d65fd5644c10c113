package reports

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
)

func TestTheLastWordsOfAnAgentStandBelowItsTask(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	tasks := []view.Task{
		{ID: "landed", State: run.TaskLanded},
		{ID: "silent", State: run.TaskDone},
		{ID: "idle", State: run.TaskDone, Said: "I cannot\ndo this.\x1b[31m " + strings.Repeat("x", maxSaid)},
		{ID: "failed", State: run.TaskParked, Reason: "command: gemini exited with 1", Said: "I gave up."},
		{ID: "told", State: run.TaskParked, Reason: "command: gemini exited with 1, and reports: I told you.", Said: "I told you."},
	}
	Tasks(&b, view.Ranked(tasks), 80)
	got := b.String()
	require.Contains(t, got, "\n    its last words: I cannot do this.")
	require.Contains(t, got, "    command: gemini exited with 1\n    its last words: I gave up.\n")
	require.NotContains(t, got, "its last words: I told")
	require.NotContains(t, got, "\x1b")
	require.Less(t, len(got), maxSaid+500)
	require.Less(t, strings.Index(got, "idle"), strings.Index(got, "landed"), "an agent may say that it could not do it")
}
