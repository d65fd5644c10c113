package orchestrator_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator"
)

// A program that gives Start and Wait the context of its signals sees the run end in order.
func TestWaitOutlastsTheContextThatStopsTheRun(t *testing.T) {
	t.Parallel()
	repo, stateDir, remove := newRepository()
	defer remove()
	ctx, cancel := context.WithCancel(t.Context())
	run, err := orchestrator.Start(ctx, orchestrator.Options{
		Host: orchestrator.Host{StateDir: stateDir}, Repo: repo, Plan: &plan,
		Roles: []orchestrator.File{role("[sleep, '3600']")},
	})
	require.NoError(t, err)
	for line, err := range run.Events(ctx) {
		require.NoError(t, err)
		if strings.Contains(string(line), `"kind":"task"`) {
			break
		}
	}
	other, end := context.WithCancel(t.Context())
	end()
	_, err = run.Wait(other)
	require.ErrorIs(t, err, context.Canceled, "the run goes on")
	cancel()
	result, err := run.Wait(ctx)
	require.NoError(t, err)
	require.Equal(t, "stopped", result.State)
}
