package orchestrator

import (
	"bytes"
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/orchestrator/run"
)

// Who can reach the bus can call as often as they like: no more calls than maxCalls are answered at once, and none is lost.
func TestCallsAreBounded(t *testing.T) { //nolint:paralleltest // it counts the goroutines of all tests
	b, err := bus.Open(t.Context(), bus.Options{Dir: t.TempDir(), Run: "r"})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	h := &conduct{place: place{log: zerolog.Nop()}, bus: b, spec: run.Spec{Run: "r"}}
	stop, err := h.listen(t.Context())
	require.NoError(t, err)
	answering := func() int {
		stacks := make([]byte, 8<<20)
		return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("(*conduct).answer("))
	}
	h.planning.Lock()
	for range 2 * maxCalls {
		require.NoError(t, b.Publish(t.Context(), bus.CallSubject("r", "local"), []byte(`{"plan":{}}`)))
	}
	require.NoError(t, b.Publish(t.Context(), bus.CallSubject("r", "local"), []byte(`{"gap":"the last call"}`)))
	require.Eventually(t, func() bool { return answering() >= maxCalls }, time.Minute, time.Millisecond)
	require.Equal(t, maxCalls, answering())
	require.Nil(t, h.gaps.Load())
	h.planning.Unlock()
	require.Eventually(t, func() bool { return h.gaps.Load() != nil }, time.Minute, time.Millisecond)
	stop()
	require.Zero(t, answering())
}
