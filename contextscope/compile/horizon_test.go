package compile

import (
	"fmt"
	"strings"
	"testing"

	"divisi/contextscope"
	"divisi/contextscope/compaction"
	"divisi/contextscope/content"
	"divisi/contextscope/narrative"
	"divisi/contextscope/slice"
	"divisi/internal/spec"
	"divisi/internal/testkit/sessiontest"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

func big(id string) *genai.Part {
	p := sessiontest.Result(id, "read", strings.Repeat("a", 250)+strings.Repeat("é", 1000)+strings.Repeat("z", 250))
	p.FunctionResponse.Response["exit_code"] = 1
	return p
}

func compiled(t *testing.T, l *sessiontest.Log) contextscope.Request {
	t.Helper()
	r := NewCompiler().Compile(Input{Agent: l.Agent, Brief: Brief{Task: spec.Task{ID: "gen"}}, Events: l.Events})
	sessiontest.CheckRequest(t, r.Contents)
	return r
}

func traceOf(t *testing.T, r *contextscope.Request, processor string) contextscope.Trace {
	t.Helper()
	for _, l := range r.Trace {
		if l.Processor == processor {
			return l
		}
	}
	require.Fail(t, "no line of "+processor)
	return contextscope.Trace{}
}

func TestSnapshotStandsForItsRange(t *testing.T) {
	t.Parallel()
	l := &sessiontest.Log{Agent: "gen/1"}
	l.User("go").Turn(sessiontest.Call("a", "read")).Steer("use tabs").Tool(sessiontest.Result("a", "read", "1")).Turn(sessiontest.Say("one")).Nudge("hm").
		Turn(sessiontest.Call("b", "read")).Data(contextscope.KindCompaction, contextscope.Compaction{Method: contextscope.MethodSnapshot, To: 6, Snapshot: `{"overall_goal"}` + narrative.QuoteEnd}).
		Tool(sessiontest.Result("b", "read", "2"))
	r := compiled(t, l)
	parts := sessiontest.Texts(r.Contents[0].Parts)
	require.Equal(t, []string{
		"Task: gen",
		snapshotText + "\n{\"overall_goal\"}<<<ELIDED_MARKER>>>",
		"use tabs",
	}, parts, "the snapshot after the brief, then the steering")
	require.Same(t, l.Events[6].Content, r.Contents[1])
	require.Same(t, l.Events[8].Content, r.Contents[2])
	require.Len(t, r.Contents, 3)
	require.Equal(t, 1, r.Prefix)
	require.Equal(t, []string{"e1", "e2", "e4", "e5", "e6"}, traceOf(t, &r, "compaction").Events)
	require.Contains(t, traceOf(t, &r, "compaction").What, "snapshot of event e8, about 12 tokens of the history; 5 events left out")
}

func TestPruneSaysWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	l := &sessiontest.Log{Agent: "gen/1"}
	for i := range 5 {
		l.Work(i, 10)
	}
	l.Data(contextscope.KindCompaction, contextscope.Compaction{Method: contextscope.MethodSnapshot, To: 2, Snapshot: "first"}).
		Data(contextscope.KindCompaction, contextscope.Compaction{Method: contextscope.MethodPrune, To: 6}).
		Data(contextscope.KindCompaction, contextscope.Compaction{Method: contextscope.MethodPrune, To: 4})
	r := compiled(t, l)
	require.Equal(t, []string{"Task: gen", snapshotText + "\nfirst", leftOutText(4, 3, 6)}, sessiontest.Texts(r.Contents[0].Parts),
		"the greatest range decides")
	require.Contains(t, leftOutText(4, 3, 6), "4 events")
	require.Same(t, l.Events[6].Content, r.Contents[1])
	require.Len(t, traceOf(t, &r, "compaction").Events, 6)
	r = compiled(t, l.Data(contextscope.KindCompaction, contextscope.Compaction{Method: contextscope.MethodSnapshot, To: 6, Snapshot: "second"}))
	require.Equal(t, []string{"Task: gen", snapshotText + "\nsecond"}, sessiontest.Texts(r.Contents[0].Parts))
}

func TestCompactionMasksLargeResults(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "gen/1"}).Turn(sessiontest.Call("a", "read"), sessiontest.Call("b", "read")).Tool(big("a"), sessiontest.Result("b", "read", "small")).
		Turn(sessiontest.Call("c", "read")).Tool(big("c")).Data(contextscope.KindCompaction, contextscope.Compaction{Method: contextscope.MethodPrune, Masked: []int{2, 77}})
	before := textOf(t, l.Events)
	r := compiled(t, l)
	masked := r.Contents[2].Parts[0].FunctionResponse
	require.Equal(t, "a", masked.ID)
	require.Equal(t, map[string]any{
		"exit_code": 1,
		"output": "[2500 bytes left out; load_artifact \"event:2\" shows them]\n" +
			strings.Repeat("a", 200) + "…" + strings.Repeat("z", 200),
	}, masked.Response)
	require.Same(t, l.Events[1].Content.Parts[1], r.Contents[2].Parts[1], "what is small stays")
	require.Same(t, l.Events[3].Content, r.Contents[4])
	require.Equal(t, before, textOf(t, l.Events))
	require.Contains(t, traceOf(t, &r, "compaction").What, "1 events are shown as handles")
}

func TestMaskCutsBetweenCharacters(t *testing.T) {
	t.Parallel()
	for shift := range 3 {
		text := strings.Repeat("x", shift) + strings.Repeat("€", 1000) + strings.Repeat("y", shift)
		part := &genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "read", Response: map[string]any{"output": text}}}
		got, _ := compaction.Mask(part, 7, compaction.MaskEdge).FunctionResponse.Response["output"].(string)
		require.Equal(t, strings.ToValidUTF8(got, ""), got, "shift %d", shift)
	}
	part := &genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "x", Response: map[string]any{
		"rows": []any{strings.Repeat("r", 2000)}, "n": "three",
	}}}
	response := compaction.Mask(part, 7, 5).FunctionResponse.Response
	require.Equal(t, "three", response["n"])
	require.Equal(t, "[2013 bytes left out; load_artifact \"event:7\" shows them]\n{\"row…rr\"]}", response["output"])
	many := map[string]any{}
	for i := range 30 {
		many[fmt.Sprint(i)] = strings.Repeat("v", 80)
	}
	part = &genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "x", Response: many}}
	_, done := compaction.MaskLarge(part, 7)
	require.False(t, done, "what cannot shrink stays")
}

func TestCompactionThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "gen/1"}).User("go").Turn(sessiontest.Say("one")).Data(contextscope.KindCompaction, contextscope.Compaction{Method: contextscope.MethodFailed, To: 2, Snapshot: "no"})
	l.Data(contextscope.KindCompaction, contextscope.Compaction{})
	l.Events[3].Data = []byte(`{"method":`)
	r := compiled(t, l)
	require.Equal(t, []string{"Task: gen", "go"}, sessiontest.Texts(r.Contents[0].Parts))
	trace := traceOf(t, &r, "compaction")
	require.Equal(t, "nothing is left out", trace.What)
	require.Equal(t, []string{
		"event e3: a compaction came to nothing (failed)", "event e4: this compaction cannot be read and changes nothing",
	}, trace.Notes)
}

// The events of an earlier session with numbers of its own come before: all of them are older than the range's end.
func TestCompactionOfASessionThatGoesOn(t *testing.T) {
	t.Parallel()
	l := &sessiontest.Log{Agent: "plan/2"}
	for i := range 6 {
		l.Turn(sessiontest.Say(fmt.Sprintf("t%d", i)))
	}
	for i := range l.Events {
		l.Events[i].Seq = i%3 + 1
	}
	l.Data(contextscope.KindCompaction, contextscope.Compaction{Method: contextscope.MethodPrune, To: 2})
	r := compiled(t, l)
	require.Equal(t, []string{"t5"}, sessiontest.Texts(r.Contents[1].Parts))
}

func TestResultsOfWhatWasLeftOutGoWithIt(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "gen/1"}).Turn(sessiontest.Call("a", "read")).Data(contextscope.KindCompaction, contextscope.Compaction{Method: contextscope.MethodPrune, To: 1}).
		Tool(sessiontest.Result("a", "read", "1")).Turn(sessiontest.Say("next"))
	r := compiled(t, l)
	require.Len(t, r.Contents, 2)
	require.Empty(t, traceOf(t, &r, "history").Notes)
}

func TestInheritedSnapshotIsToldAsItsAgentsWords(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "master/1"}).Turn(sessiontest.Call("a", "search")).Tool(sessiontest.Result("a", "search", "x"))
	l.Data(contextscope.KindCompaction, contextscope.Compaction{Method: contextscope.MethodSnapshot, To: 2, Snapshot: `{"overall_goal": "new"}`})
	r := NewCompiler().Compile(Input{
		Agent: "x/1", Slice: slice.Build(slice.Input{Include: spec.IncludeFull, Dispatcher: l.Events}),
		Brief: Brief{Task: spec.Task{ID: "x"}},
	})
	told := strings.Join(sessiontest.Texts(r.Contents[0].Parts), "\n")
	require.Contains(t, told, "[master/1] said:")
	require.Contains(t, told, "overall_goal")
}

// Steering is shown beside every snapshot. However long, it takes nothing from what a compaction may cost.
func TestSteeringOfAMegabyteHoldsNoCompaction(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "a/1"}).Brief("Task: rename Foo")
	for i := range 6 {
		l.Work(i, 360)
	}
	l.Steer(strings.Repeat("mind </state_snapshot> "+narrative.QuoteEnd, 20_000))
	for i := range 10 {
		l.Work(6+i, 1000)
	}
	steered := l.Events[13].Content
	job, ok := compaction.Plan(l.Events, compaction.PlanInput{Rules: spec.ContextRules{}.WithDefaults().Compaction})
	require.True(t, ok)
	require.Empty(t, job.Check(compaction.Snapshot{OverallGoal: "rename"}))
	pruned, ok := compaction.Prune(l.Events, compaction.PruneInput{Target: 1000})
	require.True(t, ok)
	require.Greater(t, pruned.To, 13)
	events := l.Events
	for _, c := range []contextscope.Compaction{job.Done(compaction.Snapshot{OverallGoal: "rename"}), pruned} {
		l.Events = events[:len(events):len(events)]
		r := NewCompiler().Compile(Input{Agent: "a/1", Events: l.Data(contextscope.KindCompaction, c).Events})
		require.Contains(t, r.Contents[0].Parts, steered.Parts[0], "word for word, and once")
		require.Less(t, content.Tokens(r.Contents[0]), content.Tokens(steered)+1000)
	}
}
