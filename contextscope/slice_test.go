package contextscope

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"
)

func TestBuildSliceNone(t *testing.T) {
	t.Parallel()
	l := (&log{agent: "plan/1"}).turn(say("hello"))
	s := BuildSlice(SliceInput{Include: spec.IncludeNone, DecisionRecord: "Foo is Bar", Dispatcher: l.events})
	require.Equal(t, Slice{DecisionRecord: "Foo is Bar"}, s)
	require.False(t, s.Empty())
	require.True(t, BuildSlice(SliceInput{Dispatcher: l.events}).Empty())
}

func TestBuildSliceFull(t *testing.T) {
	t.Parallel()
	plan := &log{agent: "plan/1"}
	plan.brief("goal").
		turn(think("hm"), &genai.Part{Text: "look", ThoughtSignature: []byte("s")}, call("a", "survey")).
		tool(result("a", "survey", "x")).nudge("go on").turn(think("only thinking")).
		turn(&genai.Part{ThoughtSignature: []byte("alone")}).turn(call("d", "dispatch")).tool(result("d", "dispatch", "ok"))
	one := (&log{agent: "read-1/1"}).turn(say("one")).turn(call("open", "grep"))
	two := (&log{agent: "read-2/1"}).turn(say("two"))
	before, err := json.Marshal(plan.events)
	require.NoError(t, err)

	s := BuildSlice(SliceInput{
		Include: spec.IncludeFull, DecisionRecord: "r", Dispatcher: plan.events, Inputs: [][]Event{two.events, one.events},
	})
	var agents []string
	for _, e := range s.Events {
		agents = append(agents, e.Agent+":"+e.ID)
		for _, p := range e.Content.Parts {
			require.False(t, p.Thought)
			require.Empty(t, p.ThoughtSignature)
		}
	}
	require.Equal(t, []string{"plan/1:e1", "plan/1:e2", "plan/1:e3", "read-2/1:e1", "read-1/1:e1"}, agents,
		"up to the dispatch, then the inputs in plan order, each cut before what is open")
	require.Equal(t, []string{"look", ""}, texts(s.Events[1].Content.Parts))
	after, err := json.Marshal(plan.events)
	require.NoError(t, err)
	require.JSONEq(t, string(before), string(after), "the log is not touched")

	s = BuildSlice(SliceInput{
		Include: spec.IncludeFull, Dispatcher: plan.events, Call: "a", Last: 1, Inputs: [][]Event{two.events},
	})
	require.Equal(t, []string{"e1", "e1"}, ids(s.Events), "up to the call that was named")
}

func TestSliceIsTrimmedOldestFirst(t *testing.T) {
	t.Parallel()
	l := &log{agent: "a/1"}
	l.user(strings.Repeat("u", 400)).turn(call("c", "run")).tool(result("c", "run", strings.Repeat("r", 400))).
		turn(say(strings.Repeat("t", 400)))
	build := func(maxTokens int) Slice {
		return BuildSlice(SliceInput{
			Include: spec.IncludeFull, DecisionRecord: "12345678", Dispatcher: l.events, MaxTokens: maxTokens,
		})
	}
	require.Len(t, build(0).Events, 4)
	require.Len(t, build(1000).Events, 4)
	s := build(150)
	require.Equal(t, []string{"e4"}, ids(s.Events))
	require.Equal(t, 3, s.Left)
	s = build(102 + 107)
	require.Equal(t, []string{"e4"}, ids(s.Events), "a result does not stay without its call")
	s = build(1)
	require.Empty(t, s.Events)
	require.Equal(t, 4, s.Left)
	require.Equal(t, "12345678", s.DecisionRecord, "the decision record is never cut")
}

func TestSliceEncoding(t *testing.T) {
	t.Parallel()
	l := (&log{agent: "a/1"}).user("go").turn(call("c", "run")).tool(result("c", "run", "<ok>"))
	for i := range l.events {
		l.events[i].Time = time.Date(2026, 1, 2, 3, 4, i, 0, time.FixedZone("x", 3600))
	}
	in := SliceInput{Include: spec.IncludeFull, DecisionRecord: "r", Dispatcher: l.events}
	data, digest, err := BuildSlice(in).Encode()
	require.NoError(t, err)
	require.Len(t, digest, 64)

	for i := range l.events {
		l.events[i].Pos, l.events[i].Time = uint64(i+7), l.events[i].Time.UTC()
	}
	again, digestAgain, err := BuildSlice(in).Encode()
	require.NoError(t, err)
	require.Equal(t, string(data), string(again), "where an event was read from does not show")
	require.Equal(t, digest, digestAgain)

	decoded, err := DecodeSlice(data)
	require.NoError(t, err)
	reencoded, _, err := decoded.Encode()
	require.NoError(t, err)
	require.Equal(t, string(data), string(reencoded))

	empty, _, err := Slice{}.Encode()
	require.NoError(t, err)
	require.Equal(t, `{"v":1}`, string(empty))
}

func TestSliceEncodingFaults(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{``, `{}`, `{"v":2}`, `{"v":1,"more":1}`, `{"v":1} {}`, `[1]`, `{"v":1,"events":[{"seq":"x"}]}`} {
		_, err := DecodeSlice([]byte(bad))
		require.ErrorContains(t, err, "decode slice", bad)
	}
	unwritable := call("c", "f")
	unwritable.FunctionCall.Args["x"] = math.NaN()
	nan := (&log{agent: "a/1"}).turn(unwritable)
	_, _, err := Slice{Events: nan.events}.Encode()
	require.ErrorContains(t, err, "encode slice of 1 events")
}

func TestSliceProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		maxTokens := rapid.IntRange(0, 60).Draw(t, "max")
		in := SliceInput{
			Include: spec.IncludeFull, DecisionRecord: rapid.StringN(0, 8, -1).Draw(t, "record"),
			Dispatcher: drawEvents(t, "plan/1"), Inputs: [][]Event{drawEvents(t, "a/1"), drawEvents(t, "b/1")},
			Last: rapid.IntRange(0, 3).Draw(t, "last"), MaxTokens: maxTokens,
		}
		s := BuildSlice(in)
		data, _, err := s.Encode()
		require.NoError(t, err)
		again, _, err := BuildSlice(in).Encode()
		require.NoError(t, err)
		require.Equal(t, string(data), string(again))
		_, err = DecodeSlice(data)
		require.NoError(t, err)
		size := 0
		for _, e := range s.Events {
			size += Tokens(e.Content)
		}
		if maxTokens > 0 {
			require.LessOrEqual(t, size, maxTokens)
		}
	})
}

// compact appends a compaction of the events up to a number.
func (l *log) compact(to int, snapshot, method string) *log {
	data, err := json.Marshal(Compaction{Method: method, From: 1, To: to, Snapshot: snapshot})
	if err != nil {
		panic(err)
	}
	l.add(KindCompaction, "runtime", genai.RoleModel)
	e := &l.events[len(l.events)-1]
	e.Content, e.Data = nil, data
	return l
}

func TestSliceCarriesTheNewestSnapshotInPlaceOfWhatItStandsFor(t *testing.T) {
	t.Parallel()
	l := &log{agent: "master/1"}
	l.brief("goal").turn(call("a", "search")).tool(result("a", "search", "x")).turn(call("b", "search")).
		tool(result("b", "search", "y")).compact(3, "<state_snapshot>old</state_snapshot>", CompactionSnapshot).
		turn(call("c", "search")).tool(result("c", "search", "z")).compact(5, "<state_snapshot>new</state_snapshot>", CompactionSnapshot).
		compact(8, "", CompactionFailed).turn(call("d", "dispatch")).compact(8, "<state_snapshot>later</state_snapshot>", CompactionSnapshot)
	in := SliceInput{Include: spec.IncludeFull, Dispatcher: l.events, Inputs: [][]Event{l.events[:5]}}
	s := BuildSlice(in)
	require.Equal(t, []string{"e9", "e7", "e8", "e1", "e2", "e3", "e4", "e5"}, ids(s.Events),
		"the newest snapshot before the dispatch, then what is younger than what it stands for")
	require.Equal(t, "master/1", speaker(s.Events[0]))
	require.Equal(t, noted+"<state_snapshot>new</state_snapshot>", s.Events[0].Content.Parts[0].Text)
	require.Nil(t, s.Events[0].Data)
	in.Inputs = nil
	first, digest, err := BuildSlice(in).Encode()
	require.NoError(t, err)
	again, same, err := BuildSlice(in).Encode()
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, digest, same)
	in.Last = 1
	require.Equal(t, []string{"e9", "e7", "e8"}, ids(BuildSlice(in).Events), "the notes led to the newest turn")
	in.Dispatcher = slices.Insert(slices.Clone(l.events), 10, (&log{agent: "master/1"}).turn(say("more")).events[0])
	in.Dispatcher[10].Seq = 11
	require.Equal(t, []string{"e1"}, ids(BuildSlice(in).Events), "and to no turn after it")

	req := NewCompiler().Compile(Input{Agent: "x/1", Slice: s, Brief: Brief{Task: spec.Task{ID: "x"}}})
	raw, err := json.Marshal(req.Contents)
	require.NoError(t, err)
	require.Contains(t, string(raw), "[master/1] said:")
	require.Contains(t, string(raw), "state_snapshot")
}

func TestSteeringStaysBesideTheSnapshotOfASlice(t *testing.T) {
	t.Parallel()
	l := (&log{agent: "master/1"}).turn(say("one")).steer("use tabs").turn(say("two")).
		compact(3, "<state_snapshot/>", CompactionSnapshot).turn(say("three")).compact(5, "<lie/>", CompactionFailed)
	s := BuildSlice(SliceInput{Include: spec.IncludeFull, Dispatcher: l.events})
	require.Equal(t, []string{"e4", "e2", "e5"}, ids(s.Events), "and a failed compaction stands for nothing")
}

func TestSliceNumbersAConversationOfSeveralAttempts(t *testing.T) {
	t.Parallel()
	attempt := func(n int, l *log) []Event {
		for i := range l.events {
			l.events[i].Attempt, l.events[i].ID = n, string(rune('a'+n))+l.events[i].ID
		}
		return l.events
	}
	one := attempt(1, (&log{agent: "master/1"}).brief("goal").turn(say("one")).turn(say("two")))
	two := attempt(2, (&log{agent: "master/2"}).user("go on").turn(say("three")).turn(say("four")).
		compact(5, "<state_snapshot/>", CompactionSnapshot).turn(say("five")))
	all := Session(append(one, two...))
	require.Equal(t, 8, all.Numbered()[7].Seq)
	require.Equal(t, 5, all[7].Seq, "the session itself is not changed")
	s := BuildSlice(SliceInput{Include: spec.IncludeFull, Dispatcher: all})
	require.Equal(t, []string{"ce4", "ce3", "ce5"}, ids(s.Events), "event 5 of the conversation is the second attempt's second")
}

// The brief has what a task handed over: the narrated session does not say it again.
func TestASliceLeavesOutTheCallsThatTheBriefTells(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{spec.ToolSubmitResult, spec.ToolTransfer} {
		one := (&log{agent: "one/1"}).turn(call("a", "grep")).tool(result("a", "grep", "x")).
			turn(call("b", tool)).tool(result("b", tool, "say more")).turn(call("c", tool)).tool(result("c", tool, "taken"))
		two := (&log{agent: "two/1"}).turn(say("bye"), call("b", tool), call("c", "grep")).
			tool(result("b", tool, "taken"), result("c", "grep", "y"))
		before, err := json.Marshal([]any{one.events, two.events})
		require.NoError(t, err)
		s := BuildSlice(SliceInput{Include: spec.IncludeFull, Inputs: [][]Event{one.events, two.events}})
		require.Equal(t, []string{"e1", "e2", "e3", "e4", "e1", "e2"}, ids(s.Events), "what was refused is part of the story")
		require.Equal(t, "bye", s.Events[4].Content.Parts[0].Text)
		require.Len(t, s.Events[4].Content.Parts, 2)
		require.Len(t, s.Events[5].Content.Parts, 1)
		after, err := json.Marshal([]any{one.events, two.events})
		require.NoError(t, err)
		require.JSONEq(t, string(before), string(after), "the log is not touched")
	}
}

func TestEmptyArgumentsSurviveTheLog(t *testing.T) {
	t.Parallel()
	e := Event{Kind: KindTurn, Agent: "a/1", Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{
		{FunctionCall: &genai.FunctionCall{ID: "c", Name: "list", Args: map[string]any{}}},
		{FunctionResponse: &genai.FunctionResponse{ID: "c", Name: "list", Response: map[string]any{}}},
	}}}
	data, _, err := Slice{Events: []Event{e}}.Encode()
	require.NoError(t, err)
	s, err := DecodeSlice(data)
	require.NoError(t, err)
	require.Equal(t, e.Content, s.Events[0].Content)
	told := texts(newNarrator(NarrativePlain).parts("a", s.Events[0].Content))
	require.Equal(t, []string{"[a] called tool `list` with parameters: {}", "[a] `list` tool returned result: {}"}, told)
}
