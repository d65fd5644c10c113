package orchestrator

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/store"
	"divisi/subagents/wire"
)

// told is a page of a host, and the verbs that the host was asked. Calls are answered one at a time.
func told(t *testing.T, answer func(q *hostCall) (*hostAnswer, error)) (*pageRuns, func() []string) {
	t.Helper()
	broker, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
	})
	require.NoError(t, err)
	broker.Start()
	t.Cleanup(func() { broker.Shutdown(); broker.WaitForShutdown() })
	require.True(t, broker.ReadyForConnections(10*time.Second))
	url := broker.ClientURL()
	b, err := bus.Open(t.Context(), bus.Options{URL: url})
	require.NoError(t, err)
	var mu sync.Mutex
	var asked []string
	stop, err := answerCalls(t.Context(), b, readSubject("*"), zerolog.Nop(), func(
		_ context.Context, m bus.Message,
	) ([]byte, error) {
		var q hostCall
		if err := wire.Decode(m.Data, &q); err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, q.Verb)
		a, err := answer(&q)
		if err != nil {
			a = &hostAnswer{Error: err.Error(), Usage: IsUsage(err)}
		}
		return spec.JSON(a)
	}, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		stop()
		require.NoError(t, b.Close(context.Background()))
	})
	return &pageRuns{Runs: On(Server{URL: url})}, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(asked)
	}
}

// One survey of the runs of a server is one call, however many have ended.
func TestAPageAsksTheHostOnceHowAllRunsStand(t *testing.T) {
	t.Parallel()
	d, asked := told(t, func(*hostCall) (*hostAnswer, error) {
		return &hostAnswer{
			Runs: []string{"r2", "r1"}, Stands: map[string]standing{"r2": {"active", true}, "r1": {Mark: "yesterday"}},
		}, nil
	})
	ids, err := d.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"r2", "r1"}, ids)
	mark, active := d.mark(t.Context(), "r1")
	require.Equal(t, "yesterday", mark)
	require.False(t, active)
	mark, active = d.mark(t.Context(), "r2")
	require.Equal(t, "active", mark)
	require.True(t, active)
	require.Equal(t, []string{verbList}, asked())
}

// A host of an earlier version refuses the call.
func TestAPageOpensEachRunWhereTheHostDoesNotTellHowTheyStand(t *testing.T) {
	t.Parallel()
	d, asked := told(t, func(q *hostCall) (*hostAnswer, error) {
		if q.Stands {
			return nil, usage.Errorf("the host cannot read what is asked")
		}
		return &hostAnswer{Runs: []string{"r1"}}, nil
	})
	for range 2 {
		ids, err := d.List(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"r1"}, ids)
	}
	mark, active := d.mark(t.Context(), "r1")
	require.Equal(t, "ended", mark)
	require.False(t, active)
	require.Equal(t, []string{verbList, verbList, verbList, verbLook}, asked(), "it is asked once whether it can")
}

// Another host may have gone on with the run already.
func TestAPageOfAHostWithoutItsLeaseAppendsNothing(t *testing.T) {
	t.Parallel()
	b, err := bus.Open(t.Context(), bus.Options{Dir: t.TempDir(), Run: "r"})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	h := &Host{lease: b.NewLease(hostLease, "ours", 0)}
	r := newRun("r", store.Dir{Path: t.TempDir()}, b)
	r.notRunning, r.served, r.by = true, h, "user:ana"
	_, err = r.Act(t.Context(), act.StopLine{Reason: "why"})
	require.ErrorIs(t, err, bus.ErrLeaseLost)
	_, err = r.Act(t.Context(), act.Drop{Tasks: []string{"a"}, Reason: "why"})
	require.ErrorIs(t, err, bus.ErrLeaseLost)
	require.Nil(t, r.taken, "the store is left to the other host")
}
