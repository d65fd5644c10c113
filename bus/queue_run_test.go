package bus_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
)

func TestQueuesOfTwoRunsDoNotTakeEachOthersTasks(t *testing.T) {
	t.Parallel()
	b, err := bus.Open(t.Context(), bus.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	first, err := b.Queue(t.Context(), "reader", bus.QueueOptions{Run: "r1"})
	require.NoError(t, err)
	second, err := b.Queue(t.Context(), "reader", bus.QueueOptions{Run: "r2"})
	require.NoError(t, err)
	for _, run := range []string{"r2", "r1"} {
		require.NoError(t, b.Enqueue(t.Context(), bus.TaskSubject("reader", run, "t"), "x", []byte(run)))
	}
	for q, want := range map[*bus.Queue]string{first: "r1", second: "r2"} {
		d, err := q.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, string(d.Data))
		require.NoError(t, d.Ack(t.Context()))
	}
}
