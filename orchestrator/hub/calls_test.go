package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope/memory"
	"divisi/internal/machine"
	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/orchestrator/call"
	"divisi/orchestrator/conduct"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/evidence"
	"divisi/orchestrator/host"
	"divisi/orchestrator/run"
	"divisi/orchestrator/station"
	"divisi/subagents/wire"
)

// told is a call as it is sent.
func told[Q, A any](k call.Kind[Q, A], of call.Head, q Q) []byte {
	return []byte(spec.JSONText(call.In{Name: k.Name, Head: of, Body: []byte(spec.JSONText(q))}))
}

// became is an answer as it is sent, with a result.
func became(result any) []byte {
	return []byte(spec.JSONText(call.Answer{Result: []byte(spec.JSONText(result))}))
}

// What a worker reports a long error, and a note as large as the memory takes, are no larger than their calls may be.
func TestWhatAWorkerTellsFitsItsCall(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\"\n\u00fc\\", 15<<10)
	w := &station.Worker{Health: station.Health{Lack: &machine.Fault{What: long}}}
	at := call.Head{At: call.At{Task: strings.Repeat("t", 100), Attempt: 1}}
	for name, data := range map[string][]byte{
		"leave": told(call.ConductorLeave, at, w.Lacks()), "propose": told(call.ConductorPropose, at, memory.Note{Text: long}),
		"foreign": told(call.ConductorForeign, at, wire.Foreign{Unable: wire.Lacking(long)}),
	} {
		require.LessOrEqual(t, len(data), conduct.ConductorCalls[name].Size, name)
	}
}

// Who can reach the bus can call as often as they like: no more calls than MaxOfOne of one caller are answered at once, the
// others are told to call again, and another caller has a place meanwhile.
func TestCallsAreBounded(t *testing.T) { //nolint:paralleltest // it counts the goroutines of all tests
	b, err := bus.Open(t.Context(), bus.Options{Dir: t.TempDir(), Run: "r"})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	h := &conduct.Half{Place: depot.Place{Log: zerolog.Nop()}, Bus: b, Spec: run.Spec{Run: "r"}}
	held := make(chan struct{})
	h.Held = func() error { <-held; return nil }
	stop, err := h.Listen(t.Context())
	require.NoError(t, err)
	answers := make(chan call.Answer, 2*call.MaxOfOne+1)
	ask := func(who string) {
		var a call.Answer
		data, err := b.Request(t.Context(), bus.CallSubject("r", who), told(call.ConductorGap, call.Head{}, "x"))
		if err == nil {
			err = json.Unmarshal(data, &a)
		}
		if err != nil {
			a.Error = err.Error()
		}
		answers <- a
	}
	for range 2 * call.MaxOfOne {
		go ask("local")
	}
	for range call.MaxOfOne {
		require.Equal(t, call.Again, chantest.Next(t, answers).Class)
	}
	require.Eventually(t, func() bool { return answering() == call.MaxOfOne }, time.Minute, time.Millisecond)
	go ask("w2")
	require.Eventually(t, func() bool { return answering() == call.MaxOfOne+1 }, time.Minute, time.Millisecond)
	close(held)
	refused, done := 0, 0
	for range call.MaxOfOne + 1 {
		switch a := chantest.Next(t, answers); {
		case a.Class == call.Refused:
			refused++
		case a.Error == "", a.Class == call.Again: // beyond its pace
			done++
		}
	}
	require.Equal(t, []int{1, call.MaxOfOne}, []int{refused, done})
	stop()
	require.Zero(t, answering())
}

// A conductor that stops says so to who waits for its answer: the next one gives it.
func TestTheNextConductorAnswersWhatOneThatStopsWasAsked(t *testing.T) { //nolint:paralleltest // see above
	b, err := bus.Open(t.Context(), bus.Options{Dir: t.TempDir(), Run: "r"})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	h := &conduct.Half{Place: depot.Place{Log: zerolog.Nop()}, Bus: b, Spec: run.Spec{Run: "r"}}
	held := make(chan struct{})
	h.Held = func() error { <-held; return nil }
	ctx, end := context.WithCancel(t.Context())
	stop, err := h.Listen(ctx)
	require.NoError(t, err)
	answers := make(chan string, 1)
	go func() {
		w := &station.Work{Place: depot.Place{Log: zerolog.Nop()}, Run: "r", Bus: b}
		id, err := station.Asks(t.Context(), w, call.Kind[string, string](call.ConductorGap), "x")
		answers <- fmt.Sprint(id, err)
	}()
	require.Eventually(t, func() bool { return answering() > 0 }, time.Minute, time.Millisecond)
	end()
	close(held)
	stop()
	next := func(context.Context, bus.Message) ([]byte, error) { return became("next"), nil }
	stop, err = call.Listen(t.Context(), b, bus.CallFilter("r"), h.Log, next)
	require.NoError(t, err)
	defer stop()
	require.Equal(t, "next<nil>", chantest.Next(t, answers))
}

// answering counts the calls that conducting halves are answering.
func answering() int {
	stacks := make([]byte, 8<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("Answerer[...]).Answer("))
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
	stop, err := call.Listen(t.Context(), b, bus.CallFilter("r"), zerolog.Nop(), gone)
	require.NoError(t, err)
	defer stop()
	begun, answers := time.Now(), make(chan string, 1)
	go func() {
		w := &station.Work{Place: depot.Place{Log: zerolog.Nop()}, Run: "r", Bus: b}
		id, err := station.Asks(t.Context(), w, call.Kind[string, string](call.ConductorGap), "x")
		answers <- fmt.Sprint(id, err)
	}()
	chantest.Next(t, heard)
	next := func(context.Context, bus.Message) ([]byte, error) { return became("next"), nil }
	stopNext, err := call.Listen(t.Context(), b, bus.CallFilter("r"), zerolog.Nop(), next)
	require.NoError(t, err)
	defer stopNext()
	require.Equal(t, "next<nil>", chantest.Next(t, answers))
	require.Less(t, time.Since(begun), 15*time.Second, "the time of a lease")
}

// What a shard rule runs is not run on a host that takes no tasks; where the run is the person's own it is.
func TestAHostWithoutAgentsRunsNoCommandOfARule(t *testing.T) {
	t.Parallel()
	h := &conduct.Half{Ordered: true}
	_, err := h.Tree("c", "").(*evidence.CommitTree).Run(t.Context(), "c", []string{"touch", "x"})
	require.ErrorContains(t, err, `a shard rule by: command runs ["touch" "x"] where the run is conducted, and that host runs no commands`)
	require.ErrorContains(t, err, "have the host take tasks too")
}

// Each call has its bounds, and what may change a run or have something run is for the worker that has the attempt.
func TestCallsHaveBounds(t *testing.T) {
	t.Parallel()
	hasBounds(t, conduct.ConductorCalls)
	hasBounds(t, host.Calls)
	hasBounds(t, KeeperCalls)
	hasBounds(t, station.WorkerCalls)
	require.Equal(t, call.Planner, conduct.ConductorCalls["plan"].May)
	require.Equal(t, call.Holder, conduct.ConductorCalls["foreign"].May)
	require.Equal(t, call.Holder, conduct.ConductorCalls["propose"].May)
	require.Equal(t, call.OwnHands, conduct.ConductorCalls["gap"].May)
}

func hasBounds[S any](t *testing.T, table call.Table[S]) {
	t.Helper()
	require.NotEmpty(t, table)
	for name, e := range table {
		require.NotZero(t, e.May, name)
		require.Positive(t, e.Size, name)
		require.LessOrEqual(t, e.Size, bus.MaxData, name)
		require.Positive(t, e.Burst, name)
		require.Positive(t, e.Every, name)
	}
}

// A call that panics is an error of that call: the next one is answered.
func TestACallThatPanicsIsAnError(t *testing.T) { //nolint:paralleltest // see above
	b, err := bus.Open(t.Context(), bus.Options{Dir: t.TempDir(), Run: "r"})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	stop, err := call.Listen(t.Context(), b, bus.CallFilter("r"), zerolog.Nop(), func(_ context.Context, m bus.Message) ([]byte, error) {
		return m.Data[len(m.Data)-2:], nil
	})
	require.NoError(t, err)
	defer stop()
	got, err := b.Request(t.Context(), bus.CallSubject("r", "w"), []byte("x"))
	require.NoError(t, err)
	require.Contains(t, string(got), "answer a call: panic: runtime error: slice bounds out of range")
	got, err = b.Request(t.Context(), bus.CallSubject("r", "w"), []byte("xyz"))
	require.NoError(t, err)
	require.Equal(t, "yz", string(got))
}
