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
	"divisi/internal/spec"
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

// A conductor that stops says so to who waits for its answer: the next one gives it.
func TestTheNextConductorAnswersWhatOneThatStopsWasAsked(t *testing.T) { //nolint:paralleltest // see above
	b, err := bus.Open(t.Context(), bus.Options{Dir: t.TempDir(), Run: "r"})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	h := &conduct{place: place{log: zerolog.Nop()}, bus: b, spec: run.Spec{Run: "r"}}
	ctx, end := context.WithCancel(t.Context())
	stop, err := h.listen(ctx)
	require.NoError(t, err)
	h.planning.Lock()
	answers := make(chan answer, 1)
	go func() {
		w := &work{place: place{log: zerolog.Nop()}, run: "r", bus: b}
		a, err := w.ask(t.Context(), call{Plan: &spec.Plan{}})
		if err != nil {
			a.Error = err.Error()
		}
		answers <- a
	}()
	require.Eventually(t, func() bool { return answering() > 0 }, time.Minute, time.Millisecond)
	end()
	h.planning.Unlock()
	stop()
	next := func(context.Context, bus.Message) ([]byte, error) { return []byte(`{"id":"next"}`), nil }
	stop, err = answerCalls(t.Context(), b, bus.CallFilter("r"), h.log, next)
	require.NoError(t, err)
	defer stop()
	require.Equal(t, answer{ID: "next"}, <-answers)
}

// answering counts the calls that conducting halves are answering.
func answering() int {
	stacks := make([]byte, 8<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("(*conduct).answer("))
}

// A host was killed, or lost its lease, with a call in flight: the caller waited in its silence for ten minutes.
func TestSlowWhoConductsNextIsAskedWhatTheHostBeforeLeaves(t *testing.T) { //nolint:paralleltest // see above
	b, err := bus.Open(t.Context(), bus.Options{Dir: t.TempDir(), Run: "r"})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	heard := make(chan struct{}, 10)
	gone := func(context.Context, bus.Message) ([]byte, error) {
		heard <- struct{}{}
		return nil, bus.ErrLeaseLost
	}
	stop, err := answerCalls(t.Context(), b, bus.CallFilter("r"), zerolog.Nop(), gone)
	require.NoError(t, err)
	defer stop()
	begun, answers := time.Now(), make(chan answer, 1)
	go func() {
		w := &work{place: place{log: zerolog.Nop()}, run: "r", bus: b}
		a, err := w.ask(t.Context(), call{Refresh: true})
		if err != nil {
			a.Error = err.Error()
		}
		answers <- a
	}()
	<-heard
	next := func(context.Context, bus.Message) ([]byte, error) { return []byte(`{"id":"next"}`), nil }
	stopNext, err := answerCalls(t.Context(), b, bus.CallFilter("r"), zerolog.Nop(), next)
	require.NoError(t, err)
	defer stopNext()
	require.Equal(t, answer{ID: "next"}, <-answers)
	require.Less(t, time.Since(begun), 15*time.Second, "the time of a lease")
}
