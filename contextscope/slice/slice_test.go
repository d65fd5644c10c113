package slice

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/contextscope/narrative"
	"divisi/internal/spec"
	"divisi/internal/testkit/sessiontest"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"
)

func TestBuildSliceNone(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "plan/1"}).Turn(sessiontest.Say("hello"))
	s := Build(Input{Include: spec.IncludeNone, DecisionRecord: "Foo is Bar", Dispatcher: l.Events})
	require.Equal(t, Slice{DecisionRecord: "Foo is Bar"}, s)
	require.Zero(t, Build(Input{Dispatcher: l.Events}))
}

func TestBuildSliceFull(t *testing.T) {
	t.Parallel()
	plan := &sessiontest.Log{Agent: "plan/1"}
	plan.Brief("goal").
		Turn(sessiontest.Think("hm"), &genai.Part{Text: "look", ThoughtSignature: []byte("s")}, sessiontest.Call("a", "survey")).
		Tool(sessiontest.Result("a", "survey", "x")).Nudge("go on").Turn(sessiontest.Think("only thinking")).
		Turn(&genai.Part{ThoughtSignature: []byte("alone")}).Turn(sessiontest.Call("d", "dispatch")).Tool(sessiontest.Result("d", "dispatch", "ok"))
	one := (&sessiontest.Log{Agent: "read-1/1"}).Turn(sessiontest.Say("one")).Turn(sessiontest.Call("open", "grep"))
	two := (&sessiontest.Log{Agent: "read-2/1"}).Turn(sessiontest.Say("two"))
	before, err := json.Marshal(plan.Events)
	require.NoError(t, err)

	s := Build(Input{
		Include: spec.IncludeFull, DecisionRecord: "r", Dispatcher: plan.Events, Inputs: [][]contextscope.Event{two.Events, one.Events},
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
	require.Equal(t, []string{"look", ""}, sessiontest.Texts(s.Events[1].Content.Parts))
	after, err := json.Marshal(plan.Events)
	require.NoError(t, err)
	require.JSONEq(t, string(before), string(after), "the log is not touched")

	s = Build(Input{
		Include: spec.IncludeFull, Dispatcher: plan.Events, Call: "a", Last: 1, Inputs: [][]contextscope.Event{two.Events},
	})
	require.Equal(t, []string{"e1", "e1"}, sessiontest.IDs(s.Events), "up to the call that was named")
}

func TestSliceIsTrimmedOldestFirst(t *testing.T) {
	t.Parallel()
	l := &sessiontest.Log{Agent: "a/1"}
	l.User(strings.Repeat("u", 400)).Turn(sessiontest.Call("c", "run")).Tool(sessiontest.Result("c", "run", strings.Repeat("r", 400))).
		Turn(sessiontest.Say(strings.Repeat("t", 400)))
	build := func(maxTokens int) Slice {
		return Build(Input{
			Include: spec.IncludeFull, DecisionRecord: "12345678", Dispatcher: l.Events, MaxTokens: maxTokens,
		})
	}
	require.Len(t, build(0).Events, 4)
	require.Len(t, build(1000).Events, 4)
	s := build(150)
	require.Equal(t, []string{"e4"}, sessiontest.IDs(s.Events))
	require.Equal(t, 3, s.Left)
	s = build(102 + 107)
	require.Equal(t, []string{"e4"}, sessiontest.IDs(s.Events), "a result does not stay without its call")
	s = build(1)
	require.Empty(t, s.Events)
	require.Equal(t, 4, s.Left)
	require.Equal(t, "12345678", s.DecisionRecord, "the decision record is never cut")
}

func TestSliceEncoding(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "a/1"}).User("go").Turn(sessiontest.Call("c", "run")).Tool(sessiontest.Result("c", "run", "<ok>"))
	for i := range l.Events {
		l.Events[i].Time = time.Date(2026, 1, 2, 3, 4, i, 0, time.FixedZone("x", 3600))
	}
	in := Input{Include: spec.IncludeFull, DecisionRecord: "r", Dispatcher: l.Events}
	data, digest, err := Build(in).Encode()
	require.NoError(t, err)
	require.Len(t, digest, 64)

	for i := range l.Events {
		l.Events[i].Pos, l.Events[i].Time = uint64(i+7), l.Events[i].Time.UTC()
	}
	again, digestAgain, err := Build(in).Encode()
	require.NoError(t, err)
	require.Equal(t, string(data), string(again), "where an event was read from does not show")
	require.Equal(t, digest, digestAgain)

	decoded, err := Decode(data)
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
		_, err := Decode([]byte(bad))
		require.ErrorContains(t, err, "decode slice", bad)
	}
	unwritable := sessiontest.Call("c", "f")
	unwritable.FunctionCall.Args["x"] = math.NaN()
	nan := (&sessiontest.Log{Agent: "a/1"}).Turn(unwritable)
	_, _, err := Slice{Events: nan.Events}.Encode()
	require.ErrorContains(t, err, "encode slice of 1 events")
}

func TestSliceProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		maxTokens := rapid.IntRange(0, 60).Draw(t, "max")
		in := Input{
			Include: spec.IncludeFull, DecisionRecord: rapid.StringN(0, 8, -1).Draw(t, "record"),
			Dispatcher: sessiontest.DrawEvents(t, "plan/1"), Inputs: [][]contextscope.Event{sessiontest.DrawEvents(t, "a/1"), sessiontest.DrawEvents(t, "b/1")},
			Last: rapid.IntRange(0, 3).Draw(t, "last"), MaxTokens: maxTokens,
		}
		s := Build(in)
		data, _, err := s.Encode()
		require.NoError(t, err)
		again, _, err := Build(in).Encode()
		require.NoError(t, err)
		require.Equal(t, string(data), string(again))
		_, err = Decode(data)
		require.NoError(t, err)
		size := 0
		for _, e := range s.Events {
			size += content.Tokens(e.Content)
		}
		if maxTokens > 0 {
			require.LessOrEqual(t, size, maxTokens)
		}
	})
}

func TestSliceCarriesTheNewestSnapshotInPlaceOfWhatItStandsFor(t *testing.T) {
	t.Parallel()
	l := &sessiontest.Log{Agent: "master/1"}
	l.Brief("goal").Turn(sessiontest.Call("a", "search")).Tool(sessiontest.Result("a", "search", "x")).Turn(sessiontest.Call("b", "search")).
		Tool(sessiontest.Result("b", "search", "y")).Data(contextscope.KindCompaction, upTo(3, `{"overall_goal": "old"}`, contextscope.MethodSnapshot)).
		Turn(sessiontest.Call("c", "search")).Tool(sessiontest.Result("c", "search", "z")).Data(contextscope.KindCompaction, upTo(5, `{"overall_goal": "new"}`, contextscope.MethodSnapshot)).
		Data(contextscope.KindCompaction, upTo(8, "", contextscope.MethodFailed)).Turn(sessiontest.Call("d", "dispatch")).Data(contextscope.KindCompaction, upTo(8, `{"overall_goal": "later"}`, contextscope.MethodSnapshot))
	in := Input{Include: spec.IncludeFull, Dispatcher: l.Events, Inputs: [][]contextscope.Event{l.Events[:5]}}
	s := Build(in)
	require.Equal(t, []string{"e9", "e7", "e8", "e1", "e2", "e3", "e4", "e5"}, sessiontest.IDs(s.Events),
		"the newest snapshot before the dispatch, then what is younger than what it stands for")
	require.Equal(t, "master/1", s.Events[0].Author)
	require.Equal(t, noted+`{"overall_goal": "new"}`, s.Events[0].Content.Parts[0].Text)
	require.Nil(t, s.Events[0].Data)
	in.Inputs = nil
	first, digest, err := Build(in).Encode()
	require.NoError(t, err)
	again, same, err := Build(in).Encode()
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, digest, same)
	in.Last = 1
	require.Equal(t, []string{"e9", "e7", "e8"}, sessiontest.IDs(Build(in).Events), "the notes led to the newest turn")
	in.Dispatcher = slices.Insert(slices.Clone(l.Events), 10, (&sessiontest.Log{Agent: "master/1"}).Turn(sessiontest.Say("more")).Events[0])
	in.Dispatcher[10].Seq = 11
	require.Equal(t, []string{"e1"}, sessiontest.IDs(Build(in).Events), "and to no turn after it")
}

func TestSteeringStaysBesideTheSnapshotOfASlice(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "master/1"}).Turn(sessiontest.Say("one")).Steer("use tabs").Turn(sessiontest.Say("two")).
		Data(contextscope.KindCompaction, upTo(3, "<state_snapshot/>", contextscope.MethodSnapshot)).Turn(sessiontest.Say("three")).Data(contextscope.KindCompaction, upTo(5, "<lie/>", contextscope.MethodFailed))
	s := Build(Input{Include: spec.IncludeFull, Dispatcher: l.Events})
	require.Equal(t, []string{"e4", "e2", "e5"}, sessiontest.IDs(s.Events), "and a failed compaction stands for nothing")
}

func TestSliceNumbersAConversationOfSeveralAttempts(t *testing.T) {
	t.Parallel()
	attempt := func(n int, l *sessiontest.Log) []contextscope.Event {
		for i := range l.Events {
			l.Events[i].Attempt, l.Events[i].ID = n, string(rune('a'+n))+l.Events[i].ID
		}
		return l.Events
	}
	one := attempt(1, (&sessiontest.Log{Agent: "master/1"}).Brief("goal").Turn(sessiontest.Say("one")).Turn(sessiontest.Say("two")))
	two := attempt(2, (&sessiontest.Log{Agent: "master/2"}).User("go on").Turn(sessiontest.Say("three")).Turn(sessiontest.Say("four")).
		Data(contextscope.KindCompaction, upTo(5, "<state_snapshot/>", contextscope.MethodSnapshot)).Turn(sessiontest.Say("five")))
	all := contextscope.Session(append(one, two...))
	require.Equal(t, 8, all.Numbered()[7].Seq)
	require.Equal(t, 5, all[7].Seq, "the session itself is not changed")
	s := Build(Input{Include: spec.IncludeFull, Dispatcher: all})
	require.Equal(t, []string{"ce4", "ce3", "ce5"}, sessiontest.IDs(s.Events), "event 5 of the conversation is the second attempt's second")
}

// The brief has what a task handed over: the narrated session does not say it again.
func TestASliceLeavesOutTheCallsThatTheBriefTells(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{spec.ToolSubmitResult, spec.ToolTransfer} {
		one := (&sessiontest.Log{Agent: "one/1"}).Turn(sessiontest.Call("a", "grep")).Tool(sessiontest.Result("a", "grep", "x")).
			Turn(sessiontest.Call("b", tool)).Tool(sessiontest.Result("b", tool, "say more")).Turn(sessiontest.Call("c", tool)).Tool(sessiontest.Result("c", tool, "taken"))
		two := (&sessiontest.Log{Agent: "two/1"}).Turn(sessiontest.Say("bye"), sessiontest.Call("b", tool), sessiontest.Call("c", "grep")).
			Tool(sessiontest.Result("b", tool, "taken"), sessiontest.Result("c", "grep", "y"))
		before, err := json.Marshal([]any{one.Events, two.Events})
		require.NoError(t, err)
		s := Build(Input{Include: spec.IncludeFull, Inputs: [][]contextscope.Event{one.Events, two.Events}})
		require.Equal(t, []string{"e1", "e2", "e3", "e4", "e1", "e2"}, sessiontest.IDs(s.Events), "what was refused is part of the story")
		require.Equal(t, "bye", s.Events[4].Content.Parts[0].Text)
		require.Len(t, s.Events[4].Content.Parts, 2)
		require.Len(t, s.Events[5].Content.Parts, 1)
		after, err := json.Marshal([]any{one.Events, two.Events})
		require.NoError(t, err)
		require.JSONEq(t, string(before), string(after), "the log is not touched")
	}
}

func TestEmptyArgumentsSurviveTheLog(t *testing.T) {
	t.Parallel()
	e := contextscope.Event{Kind: contextscope.KindTurn, Agent: "a/1", Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{
		{FunctionCall: &genai.FunctionCall{ID: "c", Name: "list", Args: map[string]any{}}},
		{FunctionResponse: &genai.FunctionResponse{ID: "c", Name: "list", Response: map[string]any{}}},
	}}}
	data, _, err := Slice{Events: []contextscope.Event{e}}.Encode()
	require.NoError(t, err)
	s, err := Decode(data)
	require.NoError(t, err)
	require.Equal(t, e.Content, s.Events[0].Content)
	told := sessiontest.Texts(narrative.New(narrative.Plain).Parts("a", s.Events[0].Content))
	require.Equal(t, []string{"[a] called tool `list` with parameters: {}", "[a] `list` tool returned result: {}"}, told)
}

// upTo is a compaction of the events up to a number.
func upTo(to int, snapshot, method string) contextscope.Compaction {
	return contextscope.Compaction{Method: method, From: 1, To: to, Snapshot: snapshot}
}
