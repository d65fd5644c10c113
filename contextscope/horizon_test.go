package contextscope

import (
	"fmt"
	"strings"
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

// compaction appends a compaction.
func (l *log) compaction(c Compaction) *log {
	l.add(KindCompaction, "conductor", "")
	e := &l.events[len(l.events)-1]
	e.Content, e.Data = nil, jsonOf(c)
	return l
}

func big(id string) *genai.Part {
	p := result(id, "read", strings.Repeat("a", 250)+strings.Repeat("é", 1000)+strings.Repeat("z", 250))
	p.FunctionResponse.Response["exit_code"] = 1
	return p
}

func compiled(t *testing.T, l *log) Request {
	t.Helper()
	r := NewCompiler().Compile(Input{Agent: l.agent, Brief: Brief{Task: spec.Task{ID: "gen"}}, Events: l.events})
	checkRequest(t, r.Contents)
	return r
}

func traceOf(t *testing.T, r *Request, processor string) Trace {
	t.Helper()
	for _, l := range r.Trace {
		if l.Processor == processor {
			return l
		}
	}
	require.Fail(t, "no line of "+processor)
	return Trace{}
}

func TestSnapshotStandsForItsRange(t *testing.T) {
	t.Parallel()
	l := &log{agent: "gen/1"}
	l.user("go").turn(call("a", "read")).steer("use tabs").tool(result("a", "read", "1")).turn(say("one")).nudge("hm").
		turn(call("b", "read")).compaction(Compaction{Method: CompactionSnapshot, To: 6, Snapshot: "<state_snapshot>" + QuoteEnd}).
		tool(result("b", "read", "2"))
	r := compiled(t, l)
	parts := texts(r.Contents[0].Parts)
	require.Equal(t, []string{
		"Task: gen",
		snapshotText + "\n<state_snapshot><<<ELIDED_MARKER>>>",
		"use tabs",
	}, parts, "the snapshot after the brief, then the steering")
	require.Same(t, l.events[6].Content, r.Contents[1])
	require.Same(t, l.events[8].Content, r.Contents[2])
	require.Len(t, r.Contents, 3)
	require.Equal(t, 1, r.Prefix)
	require.Equal(t, []string{"e1", "e2", "e4", "e5", "e6"}, traceOf(t, &r, "compaction").Events)
	require.Contains(t, traceOf(t, &r, "compaction").What, "snapshot of event e8, about 12 tokens of the history; 5 events left out")
}

func TestPruneSaysWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	l := &log{agent: "gen/1"}
	for i := range 5 {
		l.work(i, 10)
	}
	l.compaction(Compaction{Method: CompactionSnapshot, To: 2, Snapshot: "first"}).
		compaction(Compaction{Method: CompactionPrune, To: 6}).
		compaction(Compaction{Method: CompactionPrune, To: 4})
	r := compiled(t, l)
	require.Equal(t, []string{"Task: gen", snapshotText + "\nfirst", leftOutText(4, 3, 6)}, texts(r.Contents[0].Parts),
		"the greatest range decides")
	require.Contains(t, leftOutText(4, 3, 6), "4 events")
	require.Same(t, l.events[6].Content, r.Contents[1])
	require.Len(t, traceOf(t, &r, "compaction").Events, 6)
	r = compiled(t, l.compaction(Compaction{Method: CompactionSnapshot, To: 6, Snapshot: "second"}))
	require.Equal(t, []string{"Task: gen", snapshotText + "\nsecond"}, texts(r.Contents[0].Parts))
}

func TestCompactionMasksLargeResults(t *testing.T) {
	t.Parallel()
	l := (&log{agent: "gen/1"}).turn(call("a", "read"), call("b", "read")).tool(big("a"), result("b", "read", "small")).
		turn(call("c", "read")).tool(big("c")).compaction(Compaction{Method: CompactionPrune, Masked: []int{2, 77}})
	before := textOf(t, l.events)
	r := compiled(t, l)
	masked := r.Contents[2].Parts[0].FunctionResponse
	require.Equal(t, "a", masked.ID)
	require.Equal(t, map[string]any{
		"exit_code": 1,
		"output": "[2500 bytes left out; load_artifact \"event:2\" shows them]\n" +
			strings.Repeat("a", 200) + "…" + strings.Repeat("z", 200),
	}, masked.Response)
	require.Same(t, l.events[1].Content.Parts[1], r.Contents[2].Parts[1], "what is small stays")
	require.Same(t, l.events[3].Content, r.Contents[4])
	require.Equal(t, before, textOf(t, l.events))
	require.Contains(t, traceOf(t, &r, "compaction").What, "1 events are shown as handles")
}

func TestMaskCutsBetweenCharacters(t *testing.T) {
	t.Parallel()
	for shift := range 3 {
		text := strings.Repeat("x", shift) + strings.Repeat("€", 1000) + strings.Repeat("y", shift)
		part := &genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "read", Response: map[string]any{"output": text + "\xff"}}}
		got, _ := masked(part, 7, maskEdge).FunctionResponse.Response["output"].(string)
		require.Equal(t, strings.ToValidUTF8(got, ""), got, "shift %d", shift)
	}
	part := &genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "x", Response: map[string]any{
		"rows": []any{strings.Repeat("r", 2000)}, "n": "three",
	}}}
	response := masked(part, 7, 5).FunctionResponse.Response
	require.Equal(t, "three", response["n"])
	require.Equal(t, "[2013 bytes left out; load_artifact \"event:7\" shows them]\n{\"row…rr\"]}", response["output"])
	many := map[string]any{}
	for i := range 30 {
		many[fmt.Sprint(i)] = strings.Repeat("v", 80)
	}
	part = &genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "x", Response: many}}
	_, done := maskLarge(part, 7)
	require.False(t, done, "what cannot shrink stays")
}

func TestCompactionThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	l := (&log{agent: "gen/1"}).user("go").turn(say("one")).compaction(Compaction{Method: CompactionFailed, To: 2, Snapshot: "no"})
	l.compaction(Compaction{})
	l.events[3].Data = []byte(`{"method":`)
	r := compiled(t, l)
	require.Equal(t, []string{"Task: gen", "go"}, texts(r.Contents[0].Parts))
	trace := traceOf(t, &r, "compaction")
	require.Equal(t, "nothing is left out", trace.What)
	require.Equal(t, []string{
		"event e3: a compaction came to nothing (failed)", "event e4: this compaction cannot be read and changes nothing",
	}, trace.Notes)
}

// The events of an earlier session with numbers of its own come before: all of them are older than the range's end.
func TestCompactionOfASessionThatGoesOn(t *testing.T) {
	t.Parallel()
	l := &log{agent: "plan/2"}
	for i := range 6 {
		l.turn(say(fmt.Sprintf("t%d", i)))
	}
	for i := range l.events {
		l.events[i].Seq = i%3 + 1
	}
	l.compaction(Compaction{Method: CompactionPrune, To: 2})
	r := compiled(t, l)
	require.Equal(t, []string{"t5"}, texts(r.Contents[1].Parts))
}

func TestResultsOfWhatWasLeftOutGoWithIt(t *testing.T) {
	t.Parallel()
	l := (&log{agent: "gen/1"}).turn(call("a", "read")).compaction(Compaction{Method: CompactionPrune, To: 1}).
		tool(result("a", "read", "1")).turn(say("next"))
	r := compiled(t, l)
	require.Len(t, r.Contents, 2)
	require.Empty(t, traceOf(t, &r, "history").Notes)
}
