package journal

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/journaltest"
	"divisi/subagents/wire"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

func testAssignment() *wire.Assignment {
	return &wire.Assignment{
		Run: "r1", Task: spec.Task{ID: "t1", Role: "generator", Brief: "do it"}, Attempt: 1, Delivery: 1,
		Role: spec.Role{Name: "generator", Executor: spec.ExecutorModel},
	}
}

func openTest(t testing.TB, m *journaltest.Memory) *Journal {
	t.Helper()
	j, err := Open(t.Context(), m, m, testAssignment(), testStamp())
	require.NoError(t, err)
	return j
}

// testStamp counts ids and stands still in time.
func testStamp() Stamp {
	var n atomic.Int64
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return Stamp{Worker: "local", Clock: func() time.Time { return now }, IDs: func() string { return fmt.Sprintf("id-%d", n.Add(1)) }}
}

func usageEvent(u spec.Usage) contextscope.Event {
	return wire.Draft(contextscope.KindUsage, wire.Spent{Usage: u})
}

func TestNumbersEventsAndGoesOnWhereItWasLeft(t *testing.T) {
	t.Parallel()
	m := journaltest.New()
	first := openTest(t, m)
	started := wire.Draft(contextscope.KindStarted, wire.Started{Delivery: 1})
	_, err := first.Append(t.Context(), started, usageEvent(spec.Usage{Prompt: 3}))
	require.NoError(t, err)

	second := openTest(t, m)
	require.Equal(t, first.Events(), second.Events())
	stored, err := second.Append(t.Context(), usageEvent(spec.Usage{Prompt: 4}))
	require.NoError(t, err)
	require.Equal(t, 3, stored[0].Seq)
	require.Equal(t, "t1/1", stored[0].Agent)
	require.Equal(t, "t1/1", stored[0].Author)
	require.Equal(t, uint64(2), stored[0].Pos)
	usage, err := second.Usage()
	require.NoError(t, err)
	require.Equal(t, spec.Usage{Prompt: 7}, usage)
}

func TestRefusesTheHolderOfAnOlderDelivery(t *testing.T) {
	t.Parallel()
	m := journaltest.New()
	old, young := openTest(t, m), openTest(t, m)
	_, err := young.Append(t.Context(), wire.Draft(contextscope.KindStarted, wire.Started{Delivery: 2}))
	require.NoError(t, err)
	for range 2 {
		_, err = old.Append(t.Context(), usageEvent(spec.Usage{}))
		require.ErrorIs(t, err, bus.ErrFenced)
	}
	_, err = young.Append(t.Context(), usageEvent(spec.Usage{}))
	require.NoError(t, err)
}

func TestAnotherWorkerTakesAnAttemptOver(t *testing.T) {
	t.Parallel()
	m := journaltest.New()
	as := func(worker string) *Journal {
		stamp := testStamp()
		stamp.Worker = worker
		j, err := Open(t.Context(), m, m, testAssignment(), stamp)
		require.NoError(t, err)
		return j
	}
	first := as("a")
	_, err := first.Append(t.Context(), wire.Draft(contextscope.KindStarted, wire.Started{Delivery: 1}), usageEvent(spec.Usage{Prompt: 1}))
	require.NoError(t, err)
	second := as("b")
	require.Len(t, second.Events(), 2, "it continues what the first one did")
	_, err = second.Append(t.Context(), wire.Draft(contextscope.KindStarted, wire.Started{Delivery: 2}))
	require.NoError(t, err)
	_, err = first.Append(t.Context(), usageEvent(spec.Usage{Prompt: 2}))
	require.ErrorIs(t, err, bus.ErrFenced)

	late, err := wire.EncodeEvents([]contextscope.Event{usageEvent(spec.Usage{Prompt: 4})})
	require.NoError(t, err)
	subject := bus.AttemptSubject("r1", "a", "generator", "t1", 1)
	_, err = m.AppendFiltered(t.Context(), subject, subject, late, 1)
	require.NoError(t, err, "a client that leaves the other worker out of its fence can append")
	third := as("c")
	usage, err := third.Usage()
	require.NoError(t, err)
	require.Equal(t, 1, usage.Prompt, "and no session has it")
	_, err = third.Append(t.Context(), wire.Draft(contextscope.KindStarted, wire.Started{Delivery: 3}))
	require.NoError(t, err)
}

func TestAppendsNothingAfterAnErrorThatLeavesItOpen(t *testing.T) {
	t.Parallel()
	m := journaltest.New()
	j := openTest(t, m)
	m.SetFailAfter(0)
	_, err := j.Append(t.Context(), usageEvent(spec.Usage{}))
	require.ErrorIs(t, err, journaltest.ErrDown)
	m.SetFailAfter(-1)
	_, err = j.Append(t.Context(), usageEvent(spec.Usage{}))
	require.ErrorIs(t, err, journaltest.ErrDown)
	require.Empty(t, openTest(t, m).Events())
}

func TestKeepsBigPartsAsObjects(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", maxPart+1)
	tests := map[string]struct {
		part  *genai.Part
		check func(t *testing.T, p *genai.Part)
	}{
		"text": {&genai.Part{Text: big, ThoughtSignature: []byte("s")}, func(t *testing.T, p *genai.Part) {
			t.Helper()
			require.Contains(t, p.Text, PartPrefix)
			require.Equal(t, []byte("s"), p.ThoughtSignature)
		}},
		"result": {genai.NewPartFromFunctionResponse("read", map[string]any{"output": big}), func(t *testing.T, p *genai.Part) {
			t.Helper()
			require.Equal(t, "read", p.FunctionResponse.Name)
			require.Contains(t, p.FunctionResponse.Response["output"], PartPrefix)
		}},
		"call": {genai.NewPartFromFunctionCall("write", map[string]any{"content": big}), func(t *testing.T, p *genai.Part) {
			t.Helper()
			require.Equal(t, "write", p.FunctionCall.Name)
			require.Contains(t, p.FunctionCall.Args[storedArgs], PartPrefix)
		}},
		"data": {genai.NewPartFromBytes([]byte(big), "image/png"), func(t *testing.T, p *genai.Part) {
			t.Helper()
			require.Contains(t, p.Text, PartPrefix)
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := journaltest.New()
			j := openTest(t, m)
			e := wire.Draft(contextscope.KindTurn, wire.Turn{})
			e.Content = &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{Text: "small"}, tt.part}}
			stored, err := j.Append(t.Context(), e)
			require.NoError(t, err)
			require.Len(t, m.Blobs, 1)
			require.Equal(t, "small", stored[0].Content.Parts[0].Text)
			tt.check(t, stored[0].Content.Parts[1])
			require.Less(t, len(m.Messages[0].Data), maxPart)
			require.Equal(t, tt.part, e.Content.Parts[1], "the caller's content is not touched")
		})
	}
}

func TestBringsAMessageOfManyMiddlingPartsBelowTheLimit(t *testing.T) {
	t.Parallel()
	m := journaltest.New()
	j := openTest(t, m)
	e := wire.Draft(contextscope.KindTool, wire.Tooled{})
	e.Content = &genai.Content{Role: genai.RoleUser}
	for range 20 {
		output := map[string]any{"output": strings.Repeat("y", 100<<10)}
		e.Content.Parts = append(e.Content.Parts, genai.NewPartFromFunctionResponse("read", output))
	}
	_, err := j.Append(t.Context(), e)
	require.NoError(t, err)
	require.LessOrEqual(t, len(m.Messages[0].Data), maxMessage)
}

func TestFetchesStoredArguments(t *testing.T) {
	t.Parallel()
	m := journaltest.New()
	j := openTest(t, m)
	args := map[string]any{"content": strings.Repeat("z", maxPart+1)}
	e := wire.Draft(contextscope.KindTurn, wire.Turn{})
	e.Content = &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{genai.NewPartFromFunctionCall("write", args)}}
	stored, err := j.Append(t.Context(), e)
	require.NoError(t, err)
	got, err := j.Args(t.Context(), stored[0].Content.Parts[0].FunctionCall)
	require.NoError(t, err)
	require.Equal(t, args, got)
}

func TestTellsHowLongEarlierDeliveriesWorked(t *testing.T) {
	t.Parallel()
	m := journaltest.New()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	stamp := testStamp()
	stamp.Clock = func() time.Time { return now }
	j, err := Open(t.Context(), m, m, testAssignment(), stamp)
	require.NoError(t, err)
	for _, step := range []struct {
		wait  time.Duration
		event contextscope.Event
	}{
		{0, wire.Draft(contextscope.KindStarted, wire.Started{Delivery: 1})},
		{time.Minute, usageEvent(spec.Usage{})},
		{time.Hour, wire.Draft(contextscope.KindStarted, wire.Started{Delivery: 2})}, // it is left to another environment
		{time.Minute, wire.Draft(contextscope.KindControl, wire.Nudge{Reason: wire.ReasonStopped, Class: wire.FaultForeign})},
		{time.Hour, wire.Draft(contextscope.KindStarted, wire.Started{Delivery: 3})},
		{time.Second, usageEvent(spec.Usage{})},
	} {
		now = now.Add(step.wait)
		_, err := j.Append(t.Context(), step.event)
		require.NoError(t, err)
	}
	newest, worked, err := j.Deliveries()
	require.NoError(t, err)
	require.Equal(t, 3, newest)
	require.Equal(t, time.Minute+time.Second, worked)
}

// diary is a journal whose events are told with the time since the one before.
type diary struct {
	Journal

	t  *testing.T
	at time.Time
}

func newDiary(t *testing.T) *diary {
	t.Helper()
	return &diary{t: t, at: time.Unix(1_000_000, 0)}
}

func (d *diary) add(after time.Duration, kind contextscope.Kind, data any) {
	d.t.Helper()
	d.at = d.at.Add(after)
	raw, err := json.Marshal(data)
	require.NoError(d.t, err)
	d.events = append(d.events, contextscope.Event{Kind: kind, Time: d.at, Data: raw})
}

func TestTheTimeOfWaitingIsNoTimeOfWork(t *testing.T) {
	t.Parallel()
	d := newDiary(t)
	d.add(0, contextscope.KindStarted, wire.Started{Delivery: 1})
	d.add(time.Minute, contextscope.KindTurn, wire.Turn{})
	d.add(time.Minute, contextscope.KindRequest, wire.Request{ID: "a"})
	d.add(time.Second, contextscope.KindRequest, wire.Request{ID: "b"})
	d.add(time.Hour, contextscope.KindCalls, wire.Calls{})
	d.add(time.Hour, contextscope.KindTool, wire.Tooled{})
	d.add(time.Minute, contextscope.KindTurn, wire.Turn{})
	d.add(0, contextscope.KindRequest, wire.Request{ID: "c"})
	d.add(time.Hour, contextscope.KindProgress, wire.Progress{}) // its worker is lost while it waits
	d.add(time.Hour, contextscope.KindStarted, wire.Started{Delivery: 2})
	d.add(time.Minute, contextscope.KindTool, wire.Tooled{})
	newest, worked, err := d.Deliveries()
	require.NoError(t, err)
	require.Equal(t, 2, newest)
	require.Equal(t, 3*time.Minute, worked)
}

// The request is in the log already, so that the deliveries after the first append none.
func TestTheTimeOfWaitingIsNoTimeOfWorkInLaterDeliveriesEither(t *testing.T) {
	t.Parallel()
	d := newDiary(t)
	d.add(0, contextscope.KindStarted, wire.Started{Delivery: 1})
	d.add(time.Minute, contextscope.KindTurn, wire.Turn{})
	d.add(0, contextscope.KindRequest, wire.Request{ID: "a"})
	for n := 2; n <= 3; n++ {
		d.add(time.Hour, contextscope.KindStarted, wire.Started{Delivery: n})
		d.add(10*time.Hour, contextscope.KindProgress, wire.Progress{})
	}
	d.add(10*time.Hour, contextscope.KindTool, wire.Tooled{})
	d.add(time.Minute, contextscope.KindTurn, wire.Turn{})
	d.add(time.Hour, contextscope.KindStarted, wire.Started{Delivery: 4}) // its worker stopped: the hour does not count
	d.add(time.Minute, contextscope.KindTool, wire.Tooled{})
	newest, worked, err := d.Deliveries()
	require.NoError(t, err)
	require.Equal(t, 4, newest)
	require.Equal(t, 3*time.Minute, worked)
}
