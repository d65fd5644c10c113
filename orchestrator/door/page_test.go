package door

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/orchestrator/call"
	"divisi/orchestrator/client"
	"divisi/orchestrator/depot"
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
		return []byte(spec.JSONText(call.Answer{Result: []byte(spec.JSONText(call.Listed{
			Runs: []string{"r2", "r1"}, Stands: map[string]call.Standing{"r2": {Mark: "active", Active: true}, "r1": {Mark: "yesterday"}},
		}))})), nil
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		stop()
		require.NoError(t, b.Close(context.Background()))
	})
	d := NewRuns(client.On(depot.Server{URL: url}), nil, nil)
	ids, err := d.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"r2", "r1"}, ids)
	mark, active := d.mark(t.Context(), "r1")
	require.Equal(t, "yesterday", mark)
	require.False(t, active)
	mark, active = d.mark(t.Context(), "r2")
	require.Equal(t, "active", mark)
	require.True(t, active)
	require.JSONEq(t, `{"call":"list","body":{"stands":true}}`, chantest.Next(t, asked))
	require.Empty(t, asked)
}
