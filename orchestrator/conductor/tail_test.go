package conductor_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// TestWhatAWorkerWritesDuringATakeoverIsRead: workers elsewhere continue while the next conductor begins. Their events may come
// before its first one, and after it has read the log.
func TestWhatAWorkerWritesDuringATakeoverIsRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		s.Roles["mod"] = command("mod", "echo new > $DIVISI_FILES")
		s.Plan = planOf(spec.Task{ID: "one", Role: "mod", Brief: "b", Files: []string{"f00.txt"}})
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stop := r.worker(ctx)
	st, err := r.conduct(ctx, r.quietly())
	stop()
	require.NoError(t, err)
	log := r.messages()
	at := slices.IndexFunc(log, func(m bus.Message) bool {
		return slices.ContainsFunc(wire.DecodeEvents(m), func(e contextscope.Event) bool {
			return e.Task == "one" && e.Kind == contextscope.KindResult
		})
	})
	f, before := r.fork(t, log[:at]), uint64(0)
	for _, e := range wire.DecodeEvents(log[at]) {
		f.keepPack(r, e)
	}
	for _, m := range log[:at] {
		if m.Subject == log[at].Subject {
			before = m.Pos
		}
	}

	c, err := conductor.New(ctx, f.quietly())
	require.NoError(t, err)
	_, err = f.bus.Append(ctx, log[at].Subject, log[at].Data, before)
	require.NoError(t, err)
	defer f.worker(ctx)()
	require.NoError(t, c.Run(ctx))
	require.Equal(t, run.Done, c.State().Status, c.State().Reason)
	require.Equal(t, r.outcome(st.Head), f.outcome(c.State().Head))
}
