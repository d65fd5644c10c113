package reports

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/advice"
)

func markdown(t *testing.T, r *view.Report) string {
	t.Helper()
	data, err := json.Marshal(r)
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, Markdown(&b, data, func(hint string) string {
		return strings.Replace(hint, "divisi ", "divisi --on host ", 1)
	}))
	return b.String()
}

func TestMarkdownOfARun(t *testing.T) {
	t.Parallel()
	got := markdown(t, &view.Report{
		Run: "r1", Goal: "Move", State: run.Parked, Reason: "1 landed, 1 parked", Ref: "refs/heads/divisi/r1", Head: "0123456789abcdef",
		Files: 1, Added: 2, Deleted: 1, Gates: []view.Gate{{Gate: "test", Verdict: "pass"}},
		Tasks: []view.Task{
			{ID: run.MasterTask, State: run.TaskDone},
			{ID: "a", State: run.TaskLanded, Commit: "fedcba9876543210", Added: 2, Deleted: 1, Title: "Use os"},
			{ID: "b", State: run.TaskParked, Reason: "build: undefined: x"},
			{ID: "c", State: run.TaskDone},
			{ID: "d", State: run.TaskDone, Said: "I cannot do this."},
		},
		Next: []advice.Way{{Command: "divisi log r1/b", Why: "why it failed"}},
	})
	want, err := os.ReadFile("testdata/report.md")
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestMarkdownKeepsForeignTextInItsCell(t *testing.T) {
	t.Parallel()
	evil := "<script>alert(1)</script> | @all `x` ``y`` [a](javascript:x)\n\n# head \x1b[31m"
	tasks := make([]view.Task, maxMarkdownRows+3)
	for i := range tasks {
		tasks[i] = view.Task{ID: evil, State: run.TaskParked, Reason: strings.Repeat(evil, 1000)}
	}
	got := markdown(t, &view.Report{Goal: evil, Tasks: tasks})
	require.Contains(t, got, "| goal | ``` <script>alert(1)</script> \\| @all `x` ``y`` [a](javascript:x) # head ``` |\n")
	require.Contains(t, got, "\n3 more are in")
	require.NotContains(t, got, "\x1b")
	require.NotContains(t, got, "\n# head")
	require.Less(t, len(got), 1<<18)
}

// A bar behind a backslash of the text's own ends no cell, whichever rule a renderer has.
func TestMarkdownKeepsABarBehindABackslash(t *testing.T) {
	t.Parallel()
	got := markdown(t, &view.Report{
		Goal: `a\|[x](http://e)`, Gates: []view.Gate{{Gate: `g\\|[x](http://e)`, Verdict: "fail", New: []string{`T\`, `|@all`}}},
	})
	require.Contains(t, got, "| goal | ` a\\ \\|[x](http://e) ` |\n")
	require.NotContains(t, got, `\\|`)
}
