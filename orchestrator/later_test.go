package orchestrator_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/testkit/chantest"
	"divisi/orchestrator"
	"divisi/orchestrator/host"
	"divisi/orchestrator/store"
)

// A run of a later version, of a host before: this one says which version can read it, leaves it as it is, and conducts the others.
func TestAHostLeavesARunOfALaterVersion(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole run")
	}
	t.Parallel()
	const later = "20260101-000000-0000"
	url, dir := broker(t), t.TempDir()
	state, at := filepath.Join(dir, "host"), orchestrator.Server{URL: url}
	runDir := store.Dir{Path: state}.Run(later)
	require.NoError(t, os.MkdirAll(runDir, 0o700))
	require.NoError(t, store.Meta{Repo: "r", NATS: url, Order: "order-1"}.Write(runDir))
	b, err := bus.Open(t.Context(), bus.Options{URL: url, Run: later})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	_, err = b.Append(t.Context(), bus.ConductorSubject(later, string(contextscope.KindRun)),
		[]byte(`[{"v":99,"of":"another shape","data":{"spec":{"program":"v9.1.0"}}}]`), 0)
	require.NoError(t, err)

	const why = "the log of run " + later + " has format 99, and this program reads format 4 alone: Divisi v9.1.0 wrote it"
	notices := make(chan string, 9)
	h, err := host.NewHost(host.Options{StateDir: state, Server: at, Notice: func(run, text string) {
		if run == later {
			notices <- text
		}
	}})
	require.NoError(t, err)
	require.NoError(t, h.Start(t.Context()))
	defer h.Stop()
	require.Contains(t, chantest.Next(t, notices), "the run does not continue: "+why)
	runs := orchestrator.On(at)
	_, err = runs.Summary(t.Context(), later)
	require.ErrorContains(t, err, why)
	require.True(t, orchestrator.IsUsage(err))
	_, err = orchestrator.ResumeOn(t.Context(), at, orchestrator.ResumeOptions{Run: later})
	require.ErrorContains(t, err, why)

	repo, laptop, remove := newRepository()
	defer remove()
	id := submitted(t, half{
		State: laptop, NATS: url, Repo: repo, Plan: plan.Name, PlanText: string(plan.Data), Role: "[sed, -i, 's/.*/A NOTE/', '{files}']",
	})
	defer spawn(t, half{Work: true, State: filepath.Join(dir, "work"), Run: id, NATS: url}).ended()
	r, err := runs.Open(t.Context(), id)
	require.NoError(t, err)
	end, err := r.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "done", end.State, end.Reason)
	ids, err := runs.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{id, later}, ids)
	require.Empty(t, notices)
	newest, err := b.Last(t.Context(), bus.RunFilter(later))
	require.NoError(t, err)
	require.EqualValues(t, 1, newest.Pos, "nothing was written to its log")
}
