package hub

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/internal/testkit/chantest"
	"divisi/orchestrator/act"
	"divisi/orchestrator/call"
	"divisi/orchestrator/client"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/door"
	"divisi/orchestrator/host"
	"divisi/orchestrator/store"
)

// One survey of the runs of a server is one call, however many have ended.
func TestAPageAsksTheHostOnceHowAllRunsStand(t *testing.T) {
	t.Parallel()
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
	asked := make(chan string, 10)
	stop, err := call.Listen(t.Context(), b, client.ReadSubject("*"), zerolog.Nop(), func(_ context.Context, m bus.Message) ([]byte, error) {
		asked <- string(m.Data)
		return became(call.Listed{
			Runs: []string{"r2", "r1"}, Stands: map[string]call.Standing{"r2": {Mark: "active", Active: true}, "r1": {Mark: "yesterday"}},
		}), nil
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		stop()
		require.NoError(t, b.Close(context.Background()))
	})
	d := &door.PageRuns{Runs: client.On(depot.Server{URL: url})}
	ids, err := d.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"r2", "r1"}, ids)
	mark, active := d.Mark(t.Context(), "r1")
	require.Equal(t, "yesterday", mark)
	require.False(t, active)
	mark, active = d.Mark(t.Context(), "r2")
	require.Equal(t, "active", mark)
	require.True(t, active)
	require.JSONEq(t, `{"call":"list","body":{"stands":true}}`, chantest.Next(t, asked))
	require.Empty(t, asked)
}

// Another host may have gone on with the run already.
func TestAPageOfAHostWithoutItsLeaseAppendsNothing(t *testing.T) {
	t.Parallel()
	b, err := bus.Open(t.Context(), bus.Options{Dir: t.TempDir(), Run: "r"})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	h := &host.Host{Lease: b.NewLease(host.HostLease, "ours", 0)}
	r := client.AtRest("r", store.Dir{Path: t.TempDir()}, b)
	h.Serve(r)
	r.By = "user:ana"
	_, err = r.Act(t.Context(), act.StopLine{Reason: "why"})
	require.ErrorIs(t, err, bus.ErrLeaseLost)
	_, err = r.Act(t.Context(), act.Drop{Tasks: []string{"a"}, Reason: "why"})
	require.ErrorIs(t, err, bus.ErrLeaseLost)
	require.Nil(t, r.At.(*client.Rest).Taken, "the store is left to the other host")
}
