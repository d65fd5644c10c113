package conductor_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/conductor"
)

// A run whose attempts no process takes says so, once, and ends in order.
func TestARunTellsThatItWaitsForAWorker(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"a.txt": "a\n"}, manyReaders(1))
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	cfg := r.config(false)
	cfg.Patience = conductor.Patience{Sweep: 20 * time.Millisecond, Lost: 50 * time.Millisecond, Retry: time.Hour, Most: time.Hour}
	c, err := conductor.New(ctx, cfg)
	require.NoError(t, err)
	require.NoError(t, c.Start(ctx, r.spec))
	enough := errors.New("enough")
	go func() {
		for b, err := range (conductor.Log{Bus: r.bus, Run: r.spec.Run}).Tail(ctx, 0) {
			if err != nil {
				return
			}
			for _, e := range b.Events {
				if string(e.Data) == `{"notices":["waiting for a worker: no process works on 1 attempt of the queue"]}` {
					cancel(enough)
				}
			}
		}
	}()
	require.NoError(t, c.Run(ctx))
	require.ErrorIs(t, context.Cause(ctx), enough)
	require.Contains(t, c.State().Notices, "waiting for a worker: no process works on 1 attempt of the queue")
}
