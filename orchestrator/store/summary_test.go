package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/orchestrator/forecast"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
)

// summaryOf makes a run that has ended, with its summary.
func summaryOf(t *testing.T, r view.Report) Dir {
	t.Helper()
	g := Dir{Path: t.TempDir(), Log: zerolog.Nop()}
	require.NoError(t, os.MkdirAll(g.Bus(r.Run), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(g.Bus(r.Run), "lock"), nil, 0o600))
	held, err := bus.Taken(g.Bus(r.Run))
	require.NoError(t, err)
	require.NoError(t, g.writeSummary(summary{Version: summaryVersion, Held: held, Prices: model.TableID(), Report: r}))
	return g
}

func endedReport() view.Report {
	return view.Report{
		Run: "r1", Goal: "g", State: run.Done, Created: time.Unix(1, 0).UTC(),
		Quotas: []spec.Wait{{Until: time.Now().Add(-time.Hour)}},
		Tasks: []view.Task{
			{ID: run.MasterTask, State: run.TaskDone},
			{ID: "a", State: run.TaskLanded},
			{ID: "b", State: run.TaskDone},
		},
	}
}

func TestASummaryIsTheReportOfARunThatHasEnded(t *testing.T) {
	t.Parallel()
	g := summaryOf(t, endedReport())
	r, ok := g.Summary("r1")
	require.True(t, ok)
	require.Empty(t, r.Quotas, "a quota that has come back is no news")
	want := endedReport()
	want.Quotas = nil
	a, err := json.Marshal(want)
	require.NoError(t, err)
	b, err := json.Marshal(r)
	require.NoError(t, err)
	require.JSONEq(t, string(a), string(b))
}

func TestASummaryThatDoesNotCountIsIgnored(t *testing.T) {
	t.Parallel()
	change := func(old, with string) func(*testing.T, Dir) {
		return func(t *testing.T, g Dir) {
			t.Helper()
			data, err := os.ReadFile(g.summaryFile("r1"))
			require.NoError(t, err)
			require.Contains(t, string(data), old)
			require.NoError(t, os.WriteFile(g.summaryFile("r1"), bytes.Replace(data, []byte(old), []byte(with), 1), 0o600))
		}
	}
	for name, harm := range map[string]func(*testing.T, Dir){
		"missing":               func(t *testing.T, g Dir) { t.Helper(); require.NoError(t, os.Remove(g.summaryFile("r1"))) },
		"damaged":               change(`"report":`, `"report"`),
		"of a newer format":     change(fmt.Sprintf(`"version":%d`, summaryVersion), `"version":99`),
		"of other prices":       change(`"prices":"`, `"prices":"0`),
		"of another run":        change(`"run":"r1"`, `"run":"r2"`),
		"of a run that goes on": change(`"state":"done"`, `"state":"running"`),
		"stale": func(t *testing.T, g Dir) {
			t.Helper()
			require.NoError(t, os.Chtimes(filepath.Join(g.Bus("r1"), "lock"), time.Time{}, time.Now().Add(time.Second)))
		},
		"of no store": func(t *testing.T, g Dir) { t.Helper(); require.NoError(t, os.RemoveAll(g.Bus("r1"))) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := summaryOf(t, endedReport())
			harm(t, g)
			_, ok := g.Summary("r1")
			require.False(t, ok)
		})
	}
}

func FuzzSummary(f *testing.F) {
	f.Add([]byte(`{"version":6,"report":{"run":"r1","state":"done"}}`))
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, data []byte) {
		g := summaryOf(t, endedReport())
		require.NoError(t, os.WriteFile(g.summaryFile("r1"), data, 0o600))
		if r, ok := g.Summary("r1"); ok {
			require.Equal(t, "r1", r.Run)
			require.True(t, r.State.Ended())
		}
	})
}

func TestEarlierRunsAreTheNewestOfTheRepository(t *testing.T) {
	t.Parallel()
	g := Dir{Path: t.TempDir(), Log: zerolog.Nop()}
	var want []string
	for i := range 2*maxEarlier + 4 {
		r := view.Report{Run: fmt.Sprintf("20261128-1200%02d-0000", i), Repo: []string{"/a", "/b"}[i%2], State: run.Done}
		require.NoError(t, os.MkdirAll(g.Bus(r.Run), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(g.Bus(r.Run), "lock"), nil, 0o600))
		held, err := bus.Taken(g.Bus(r.Run))
		require.NoError(t, err)
		require.NoError(t, g.writeSummary(summary{summaryVersion, held, model.TableID(), r, []forecast.Past{
			{Run: r.Run, Role: r.Repo, Model: "claude-haiku-4-5", Base: 10, Usage: spec.Usage{Prompt: 1000}, Unpriced: 1000},
		}}))
		if r.Repo == "/a" {
			want = append([]string{r.Run}, want...)
		}
	}
	var got []string
	for _, r := range g.Earlier("/a") {
		got = append(got, r.Run)
	}
	require.Equal(t, want[:maxEarlier], got)
	for repo, tasks := range map[string]map[string]int{
		"/a": {"/a": maxEarlier}, "/c": {"/a": maxEarlier + 2, "/b": maxEarlier + 2}, // of others, where it has none
	} {
		learned := map[string]int{}
		for _, h := range g.Habits(&spec.Project{}, repo) {
			learned[h.Role] = h.Tasks
			require.InDelta(t, math.Log(1000*1e6/10), h.Cost.Mean, 1e-6, "by today's price")
		}
		require.Equal(t, tasks, learned)
	}
}
