//go:build browser

package dashboard

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/run"
)

// TestBrowserProgress: a task that ended without a change is told apart from those that landed.
func TestBrowserProgress(t *testing.T) {
	log := asking(t, []string{"a", "b", "c"})
	for task, state := range map[string]run.TaskState{"a": run.TaskDone, "b": run.TaskLanded} {
		log.put(t, "task", task, run.TaskData{State: state})
	}
	ctx := browse(t, start(t, log, nil).URL())
	until(ctx, t, `document.querySelector(".progress small")?.textContent === "2/3, 1 without a change"`)
	require.True(t, js[bool](ctx, t, `document.querySelector(".bar .good").style.width === document.querySelector(".bar .done").style.width`))
}
