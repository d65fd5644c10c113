package orchestrator_test

import (
	"context"
	"os"
	"path/filepath"
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
		Machine: orchestrator.Machine{StateDir: stateDir}, Repo: repo, Plan: &plan,
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

// A reader that is slower than the run learns that it has not seen every event.
func TestEventsReportTheirRelease(t *testing.T) {
	t.Parallel()
	repo, stateDir, remove := newRepository()
	defer remove()
	run, err := orchestrator.Start(t.Context(), orchestrator.Options{
		Machine: orchestrator.Machine{StateDir: stateDir}, Repo: repo, Plan: &plan,
		Roles: []orchestrator.File{role("[sed, -i, 's/.*/A NOTE/', '{files}']")},
	})
	require.NoError(t, err)
	var last error
	for _, last = range run.Events(t.Context()) {
		if last == nil {
			result, err := run.Wait(t.Context())
			require.NoError(t, err)
			require.Equal(t, "done", result.State)
		}
	}
	require.ErrorIs(t, last, orchestrator.ErrClosed)
	for _, err := range run.Events(t.Context()) {
		require.ErrorIs(t, err, orchestrator.ErrClosed)
	}
}

func TestWithoutTrustNothingStarts(t *testing.T) {
	t.Parallel()
	repo, stateDir, remove := newRepository()
	defer remove()
	file := filepath.Join(repo, ".divisi", "divisi.yaml")
	require.NoError(t, os.WriteFile(file, []byte("setup: [touch, made]\n"), 0o600))
	var requests []string
	for name, trust := range map[string]func(context.Context, []string) (bool, error){
		"nil": nil,
		"no":  func(_ context.Context, list []string) (bool, error) { requests = list; return false, nil },
	} {
		_, err := orchestrator.Start(t.Context(), orchestrator.Options{
			Machine: orchestrator.Machine{StateDir: stateDir}, Repo: repo, Base: "HEAD", Plan: &plan, Trust: trust,
			Roles: []orchestrator.File{role("[true]")}, AllowUnverified: true,
		})
		require.ErrorIs(t, err, orchestrator.ErrNotTrusted, name)
		require.True(t, orchestrator.IsUsage(err), name)
	}
	require.Len(t, requests, 1)
	require.NoDirExists(t, filepath.Join(stateDir, "runs"))
	require.NoFileExists(t, filepath.Join(repo, "made"))
}

func TestPreviewExpandsAPlanAndLeavesNothing(t *testing.T) {
	t.Parallel()
	repo, stateDir, remove := newRepository()
	defer remove()
	o := orchestrator.Options{
		Machine: orchestrator.Machine{StateDir: stateDir}, Repo: repo, Plan: &plan, Roles: []orchestrator.File{role("[true]")},
	}
	p, err := orchestrator.Preview(t.Context(), o)
	require.NoError(t, err)
	require.Contains(t, string(p.Plan), `"id":"capitals"`)
	require.NoDirExists(t, filepath.Join(stateDir, "runs"))
	o.Plan, o.Goal, o.AutoApprove = nil, "Write the notes in capitals", true
	_, err = orchestrator.Preview(t.Context(), o)
	require.True(t, orchestrator.IsUsage(err), "%v", err)
}
