package host

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/orchestrator/act"
	"divisi/orchestrator/client"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// A host whose run was taken from it for a moment begins the run again, and that one continues.
func TestARunThatAHostBeginsAgainGoesOn(t *testing.T) {
	t.Parallel()
	s := newSubmitter(t)
	require.NoError(t, s.submit())
	id := s.last()
	b, err := s.at.Open(t.Context(), id)
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(t.Context())) }()
	state := func() *run.State {
		st, err := eventlog.Fold(t.Context(), b, id)
		require.NoError(t, err)
		return st
	}
	require.Eventually(t, func() bool { return state().Epoch > 0 }, time.Minute, 10*time.Millisecond)
	began := state().Epoch
	r, err := client.On(s.at).Open(t.Context(), id)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	e := wire.Draft(contextscope.KindRun, run.Data{Notices: []string{"another conductor was here"}})
	e.V, e.ID, e.Run, e.Time, e.Author = contextscope.EventVersion, depot.NewID(), id, depot.Now(), "conductor"
	data, err := wire.EncodeEvents([]contextscope.Event{e})
	require.NoError(t, err)
	require.Eventually(t, func() bool { // the conductor may append meanwhile
		last, err := b.Last(t.Context(), bus.ConductorFilter(id))
		if err == nil {
			subject := bus.ConductorSubject(id, string(contextscope.KindRun))
			_, err = b.AppendFiltered(t.Context(), subject, bus.ConductorFilter(id), data, last.Pos)
		}
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	require.Eventually(t, func() bool { return state().Epoch > began }, time.Minute, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		_, err := r.Act(t.Context(), act.Send{Task: "write", Text: "go on"})
		return err != nil && strings.Contains(err.Error(), "write runs a command")
	}, time.Minute, 10*time.Millisecond, "the new conductor answers")
	require.True(t, s.host.Active(id))
	require.False(t, state().Status.Ended(), "%s: %s", state().Status, state().Reason)
}
