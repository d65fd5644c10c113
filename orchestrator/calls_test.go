package orchestrator

import (
	"bytes"
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope/memory"
	"divisi/internal/machine"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"

	"divisi/orchestrator/evidence"
)

// What a worker tells of a long error, and a note as large as the memory takes, are no larger than their calls may be.
func TestWhatAWorkerTellsFitsItsCall(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\"\n\u00fc\\", 15<<10)
	w := &Worker{health: health{lack: &machine.Fault{What: long}}}
	for name, body := range map[string]any{
		callLeave: w.lacks(), callForeign: wire.Foreign{Unable: wire.Lacking(long)}, callPropose: memory.Note{Text: long},
	} {
		data, err := json.Marshal(call{name: name, at: &attemptRef{strings.Repeat("t", 100), 1}, body: body})
		require.NoError(t, err)
		require.LessOrEqual(t, len(data), calls[name].size, name)
	}
}

// Who can reach the bus can call as often as they like: no more calls than maxCallsOf of one caller are answered at once, the
// others are told to call again, and another caller has a place meanwhile.
func TestCallsAreBounded(t *testing.T) { //nolint:paralleltest // it counts the goroutines of all tests
	b, err := bus.Open(t.Context(), bus.Options{Dir: t.TempDir(), Run: "r"})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	h := &conduct{place: place{log: zerolog.Nop()}, bus: b, spec: run.Spec{Run: "r"}}
	held := make(chan struct{})
	h.held = func() error { <-held; return nil }
	stop, err := h.listen(t.Context())
	require.NoError(t, err)
	answers := make(chan answer, 2*maxCallsOf+1)
	ask := func(who string) {
		var a answer
		data, err := b.Request(t.Context(), bus.CallSubject("r", who), []byte(`{"gap":"x"}`))
		if err == nil {
			err = json.Unmarshal(data, &a)
		}
		if err != nil {
			a.Error = err.Error()
		}
		answers <- a
	}
	for range 2 * maxCallsOf {
		go ask("local")
	}
	for range maxCallsOf {
		require.True(t, (<-answers).Again)
	}
	require.Eventually(t, func() bool { return answering() == maxCallsOf }, time.Minute, time.Millisecond)
	go ask("w2")
	require.Eventually(t, func() bool { return answering() == maxCallsOf+1 }, time.Minute, time.Millisecond)
	close(held)
	refused, done := 0, 0
	for range maxCallsOf + 1 {
		switch a := <-answers; {
		case a.Refused:
			refused++
		case a.Error == "", a.Again: // beyond its pace
			done++
		}
	}
	require.Equal(t, []int{1, maxCallsOf}, []int{refused, done})
	stop()
	require.Zero(t, answering())
}

// A conductor that stops says so to who waits for its answer: the next one gives it.
func TestTheNextConductorAnswersWhatOneThatStopsWasAsked(t *testing.T) { //nolint:paralleltest // see above
	b, err := bus.Open(t.Context(), bus.Options{Dir: t.TempDir(), Run: "r"})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	h := &conduct{place: place{log: zerolog.Nop()}, bus: b, spec: run.Spec{Run: "r"}}
	held := make(chan struct{})
	h.held = func() error { <-held; return nil }
	ctx, end := context.WithCancel(t.Context())
	stop, err := h.listen(ctx)
	require.NoError(t, err)
	answers := make(chan answer, 1)
	go func() {
		w := &work{place: place{log: zerolog.Nop()}, run: "r", bus: b}
		a, err := w.ask(t.Context(), call{name: callGap, body: "x"})
		if err != nil {
			a.Error = err.Error()
		}
		answers <- a
	}()
	require.Eventually(t, func() bool { return answering() > 0 }, time.Minute, time.Millisecond)
	end()
	close(held)
	stop()
	next := func(context.Context, bus.Message) ([]byte, error) { return []byte(`{"id":"next"}`), nil }
	stop, err = answerCalls(t.Context(), b, bus.CallFilter("r"), h.log, next, nil)
	require.NoError(t, err)
	defer stop()
	require.Equal(t, answer{ID: "next"}, <-answers)
}

// answering counts the calls that conducting halves are answering.
func answering() int {
	stacks := make([]byte, 8<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("(*conduct).listen.func1("))
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
	stop, err := answerCalls(t.Context(), b, bus.CallFilter("r"), zerolog.Nop(), gone, nil)
	require.NoError(t, err)
	defer stop()
	begun, answers := time.Now(), make(chan answer, 1)
	go func() {
		w := &work{place: place{log: zerolog.Nop()}, run: "r", bus: b}
		a, err := w.ask(t.Context(), call{name: callRefresh, body: true})
		if err != nil {
			a.Error = err.Error()
		}
		answers <- a
	}()
	<-heard
	next := func(context.Context, bus.Message) ([]byte, error) { return []byte(`{"id":"next"}`), nil }
	stopNext, err := answerCalls(t.Context(), b, bus.CallFilter("r"), zerolog.Nop(), next, nil)
	require.NoError(t, err)
	defer stopNext()
	require.Equal(t, answer{ID: "next"}, <-answers)
	require.Less(t, time.Since(begun), 15*time.Second, "the time of a lease")
}

// What a shard rule runs is not run on a host that takes no tasks; where the run is the person's own it is.
func TestAHostWithoutAgentsRunsNoCommandOfARule(t *testing.T) {
	t.Parallel()
	h := &conduct{ordered: true}
	_, err := h.tree("c", "").(*evidence.CommitTree).Run(t.Context(), "c", []string{"touch", "x"})
	require.ErrorContains(t, err, `a shard rule by: command runs ["touch" "x"] where the run is conducted, and that host runs no commands`)
	require.ErrorContains(t, err, "have the host take tasks too")
}

// Each call has its bounds, and what may change a run or have something run is for the worker that has the attempt.
func TestCallsHaveBounds(t *testing.T) {
	t.Parallel()
	for name, e := range calls {
		require.NotZero(t, e.may, name)
		require.Positive(t, e.size, name)
		require.LessOrEqual(t, e.size, bus.MaxData, name)
		require.Positive(t, e.burst, name)
		require.Positive(t, e.every, name)
		require.NotNil(t, e.call, name)
	}
	require.Equal(t, planner, calls[callPlan].may)
	require.Equal(t, holder, calls[callForeign].may)
	require.Equal(t, holder, calls[callPropose].may)
	require.Equal(t, ownHands, calls[callGap].may)
}

// A call that panics is an error of that call: the next one is answered.
func TestACallThatPanicsIsAnError(t *testing.T) { //nolint:paralleltest // see above
	b, err := bus.Open(t.Context(), bus.Options{Dir: t.TempDir(), Run: "r"})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	stop, err := answerCalls(t.Context(), b, bus.CallFilter("r"), zerolog.Nop(), func(_ context.Context, m bus.Message) ([]byte, error) {
		return m.Data[len(m.Data)-2:], nil
	}, func(why error) ([]byte, error) { return []byte(why.Error()), nil })
	require.NoError(t, err)
	defer stop()
	got, err := b.Request(t.Context(), bus.CallSubject("r", "w"), []byte("x"))
	require.NoError(t, err)
	require.Contains(t, string(got), "answer a call: panic: runtime error: slice bounds out of range")
	got, err = b.Request(t.Context(), bus.CallSubject("r", "w"), []byte("xyz"))
	require.NoError(t, err)
	require.Equal(t, "yz", string(got))
}
