package orchestrator_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/orchestrator"
	"divisi/orchestrator/act"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// viewing asks a host as a viewer does who is not shown what commands printed.
func viewing(t *testing.T, b *bus.Bus, call string, into any) string {
	t.Helper()
	data, err := b.Request(t.Context(), "host.view.local", []byte(call))
	require.NoError(t, err)
	if into != nil {
		require.NoError(t, json.Unmarshal(data, into), "%s", data)
	}
	return string(data)
}

// TestSlowAHostShowsTheLogToAViewer: of a run with signed receipts and a decision a viewer folds the same, whichever page it begins
// with; and nothing that the host answers has what commands and gates printed.
func TestSlowAHostShowsTheLogToAViewer(t *testing.T) {
	t.Parallel()
	url, dir := broker(t), t.TempDir()
	repo, laptop, remove := newRepository()
	defer remove()
	h := hostAt(t, filepath.Join(dir, "host"), url)
	id := submitted(t, half{
		State: laptop, NATS: url, Repo: repo, Plan: plan.Name, PlanText: string(plan.Data), Review: true,
		Role: `[sh, -c, 'echo "PRINT""ED"; sed -i "s/.*/A NOTE/" "$@"', sh, '{files}']`,
	})
	w := spawn(t, half{Work: true, Name: "one", State: filepath.Join(dir, "one"), NATS: url})
	r, err := orchestrator.On(orchestrator.Server{URL: url}).Open(t.Context(), id)
	require.NoError(t, err)
	q := open(t, r, "capitals")
	b, err := bus.Open(t.Context(), bus.Options{URL: url, Run: id})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(t.Context())) }()
	asked := viewing(t, b, fmt.Sprintf(`{"call":"decisions","run":%q}`, id), nil)
	require.Contains(t, asked, q.ID)
	_, err = r.Act(t.Context(), act.Decide{Decision: q.ID, Attempt: q.Attempt, Option: q.Options[0].Name})
	require.NoError(t, err)
	_, err = r.Wait(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.Close())

	whole, err := eventlog.Fold(t.Context(), b, id)
	require.NoError(t, err)
	st, from, pages := run.NewState(), uint64(1), 0
	for ; ; pages++ {
		var a struct {
			Result []struct {
				Subject string
				Pos     uint64
				Time    time.Time
				Events  json.RawMessage
			}
		}
		said := viewing(t, b, fmt.Sprintf(`{"call":"log","run":%q,"body":{"from":%d}}`, id, from), &a)
		require.NotContains(t, said, "PRINTED")
		require.NotContains(t, said, `"error"`)
		if len(a.Result) == 0 {
			break
		}
		m := a.Result[0] // each message begins a page once: the keys of the workers are learnt from those before
		from = m.Pos + 1
		for _, e := range wire.DecodeEvents(bus.Message{Subject: m.Subject, Pos: m.Pos, Time: m.Time, Data: m.Events}) {
			require.NoError(t, st.Apply(&e))
		}
	}
	require.Greater(t, pages, 10)
	require.NotEmpty(t, whole.Spec.Keys)
	require.Empty(t, st.Notices[len(whole.Notices):])
	require.Equal(t, whole.Status, st.Status)
	require.Equal(t, whole.Head, st.Head)
	require.Len(t, st.Decisions, len(whole.Decisions))
	for key, d := range whole.Decisions {
		require.Equal(t, d.Answer, st.Decisions[key].Answer)
	}
	for task, want := range whole.Tasks.ByID {
		require.Equal(t, want.State, st.Tasks.ByID[task].State)
	}
	require.Len(t, st.Proofs.Proved, len(whole.Proofs.Proved))

	log := func() (all string) {
		for m, err := range b.Read(t.Context(), bus.RunFilter(id), 1) {
			require.NoError(t, err)
			all += string(m.Data)
		}
		return all
	}()
	require.Contains(t, log, "PRINTED")
	for _, call := range []string{
		`{"call":"summary","run":%q}`, `{"call":"decisions","run":%q}`, `{"call":"look","run":%q}`,
		`{"call":"diff","run":%q,"at":{"task":"capitals"}}`, `{"call":"context","run":%q,"at":{"task":"capitals"}}`,
	} {
		said := viewing(t, b, fmt.Sprintf(call, id), nil)
		require.NotContains(t, said, "PRINTED", call)
		require.Equal(t, strings.Contains(call, "context"), strings.Contains(said, "is no call of those who only read"), said)
	}
	w.ended()
	h.stopped()
}
