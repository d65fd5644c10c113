package feed

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
)

func TestWaits(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Plan: &spec.Plan{}}, run.Running)
	l.Plan(spec.Task{ID: "a"}, spec.Task{ID: "b"})
	require.Empty(t, Waits(l.State, l.Time))
	line := "a release"
	l.Append("", run.Data{Line: &line})
	l.Append("b", run.TaskData{State: run.TaskHeld, Doubt: &run.Doubt{Evidence: []string{"it deletes a test"}}})
	pos := l.Pos
	waits := Waits(l.State, l.Time)
	require.Len(t, waits, 2)
	require.Equal(t, Wait{Text: "the line to be started again: a release"}, waits[0])
	require.Equal(t, "a decision about the patch of b: it deletes a test", waits[1].Text)
	require.NotEmpty(t, waits[1].Decision)
	require.Equal(t, pos, waits[1].Pos)
	line = ""
	l.Append("", run.Data{Line: &line, State: run.Running, Reason: "paused: no space"})
	require.Equal(t, "the machine: no space", Waits(l.State, l.Time)[0].Text)
	l.Append("", run.Data{State: run.Stopped})
	require.Len(t, Waits(l.State, l.Time), 1, "a person can decide meanwhile")
	l.Append("", run.Data{State: run.Cancelled})
	require.Empty(t, Waits(l.State, l.Time))
}
