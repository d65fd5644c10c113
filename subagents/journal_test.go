package subagents

import (
	"strings"
	"testing"
	"time"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
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

func openTest(t testing.TB, m *store) *Journal {
	t.Helper()
	j, err := OpenJournal(t.Context(), m, m, testAssignment(), testStamp())
	require.NoError(t, err)
	return j
}

func TestJournalNumbersEventsAndGoesOnWhereItWasLeft(t *testing.T) {
	t.Parallel()
	m := newMemory()
	first := openTest(t, m)
	started := draft(contextscope.KindStarted, wire.Started{Delivery: 1})
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

func TestJournalRefusesTheHolderOfAnOlderDelivery(t *testing.T) {
	t.Parallel()
	m := newMemory()
	old, young := openTest(t, m), openTest(t, m)
	_, err := young.Append(t.Context(), draft(contextscope.KindStarted, wire.Started{Delivery: 2}))
	require.NoError(t, err)
	for range 2 {
		_, err = old.Append(t.Context(), usageEvent(spec.Usage{}))
		require.ErrorIs(t, err, bus.ErrFenced)
	}
	_, err = young.Append(t.Context(), usageEvent(spec.Usage{}))
	require.NoError(t, err)
}

func TestJournalAppendsNothingAfterAnErrorThatLeavesItOpen(t *testing.T) {
	t.Parallel()
	m := newMemory()
	j := openTest(t, m)
	m.setFailAfter(0)
	_, err := j.Append(t.Context(), usageEvent(spec.Usage{}))
	require.ErrorIs(t, err, errDown)
	m.setFailAfter(-1)
	_, err = j.Append(t.Context(), usageEvent(spec.Usage{}))
	require.ErrorIs(t, err, errDown)
	require.Empty(t, openTest(t, m).Events())
}

func TestJournalKeepsBigPartsAsObjects(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", maxPart+1)
	tests := map[string]struct {
		part  *genai.Part
		check func(t *testing.T, p *genai.Part)
	}{
		"text": {&genai.Part{Text: big, ThoughtSignature: []byte("s")}, func(t *testing.T, p *genai.Part) {
			t.Helper()
			require.Contains(t, p.Text, partPrefix)
			require.Equal(t, []byte("s"), p.ThoughtSignature)
		}},
		"result": {genai.NewPartFromFunctionResponse("read", map[string]any{"output": big}), func(t *testing.T, p *genai.Part) {
			t.Helper()
			require.Equal(t, "read", p.FunctionResponse.Name)
			require.Contains(t, p.FunctionResponse.Response["output"], partPrefix)
		}},
		"call": {genai.NewPartFromFunctionCall("write", map[string]any{"content": big}), func(t *testing.T, p *genai.Part) {
			t.Helper()
			require.Equal(t, "write", p.FunctionCall.Name)
			require.Contains(t, p.FunctionCall.Args[storedArgs], partPrefix)
		}},
		"data": {genai.NewPartFromBytes([]byte(big), "image/png"), func(t *testing.T, p *genai.Part) {
			t.Helper()
			require.Contains(t, p.Text, partPrefix)
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMemory()
			j := openTest(t, m)
			e := draft(contextscope.KindTurn, wire.Turn{})
			e.Content = &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{Text: "small"}, tt.part}}
			stored, err := j.Append(t.Context(), e)
			require.NoError(t, err)
			require.Len(t, m.objects, 1)
			require.Equal(t, "small", stored[0].Content.Parts[0].Text)
			tt.check(t, stored[0].Content.Parts[1])
			require.Less(t, len(m.messages[0].Data), maxPart)
			require.Equal(t, tt.part, e.Content.Parts[1], "the caller's content is not touched")
		})
	}
}

func TestJournalBringsAMessageOfManyMiddlingPartsBelowTheLimit(t *testing.T) {
	t.Parallel()
	m := newMemory()
	j := openTest(t, m)
	e := draft(contextscope.KindTool, wire.Tooled{})
	e.Content = &genai.Content{Role: genai.RoleUser}
	for range 20 {
		output := map[string]any{"output": strings.Repeat("y", 100<<10)}
		e.Content.Parts = append(e.Content.Parts, genai.NewPartFromFunctionResponse("read", output))
	}
	_, err := j.Append(t.Context(), e)
	require.NoError(t, err)
	require.LessOrEqual(t, len(m.messages[0].Data), maxMessage)
}

func TestJournalFetchesStoredArguments(t *testing.T) {
	t.Parallel()
	m := newMemory()
	j := openTest(t, m)
	args := map[string]any{"content": strings.Repeat("z", maxPart+1)}
	e := draft(contextscope.KindTurn, wire.Turn{})
	e.Content = &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{genai.NewPartFromFunctionCall("write", args)}}
	stored, err := j.Append(t.Context(), e)
	require.NoError(t, err)
	got, err := j.args(t.Context(), stored[0].Content.Parts[0].FunctionCall)
	require.NoError(t, err)
	require.Equal(t, args, got)
}

func TestJournalTellsHowLongEarlierDeliveriesWorked(t *testing.T) {
	t.Parallel()
	m := newMemory()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	stamp := testStamp()
	stamp.Clock = func() time.Time { return now }
	j, err := OpenJournal(t.Context(), m, m, testAssignment(), stamp)
	require.NoError(t, err)
	for _, step := range []struct {
		wait  time.Duration
		event contextscope.Event
	}{
		{0, draft(contextscope.KindStarted, wire.Started{Delivery: 1})},
		{time.Minute, usageEvent(spec.Usage{})},
		{time.Hour, draft(contextscope.KindStarted, wire.Started{Delivery: 3})},
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
