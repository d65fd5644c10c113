package compile

import (
	"testing"

	"divisi/internal/spec"
	"divisi/internal/testkit/sessiontest"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

// Text that was said from a result which a later one replaced is left out for good.
func TestHistoryForgetsWhatWasSaidFromAReplacedResult(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "gen/1"}).Turn(sessiontest.Call("a", "read")).Turn(sessiontest.Call("b", "read")).Tool(sessiontest.Result("a", "read", "old")).
		Turn(sessiontest.Say("from the old")).Tool(sessiontest.Result("a", "read", "new")).Tool(sessiontest.Result("b", "read", "2")).Turn(sessiontest.Say("then")).Turn(sessiontest.Say("last"))
	r := filtered(t, l, spec.ContextRules{DropTools: []string{"read"}})
	require.NotContains(t, textOf(t, r.Contents), "from the old")
	require.Contains(t, textOf(t, r.Trace), "event e4: left out: it was said from a result")
	require.Contains(t, outputs(r.Contents), `[1 bytes left out; load_artifact "event:6" shows them]`)
}

func TestHistorySweepsATurnThatWasAnsweredAnew(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "gen/1"}).Turn(sessiontest.Call("b", "read")).Tool(sessiontest.Result("b", "read", "old")).Turn(sessiontest.Say("from the old")).
		Tool(sessiontest.Result("b", "read", "new")).Turn(sessiontest.Say("then"))
	r := filtered(t, l, spec.ContextRules{DropTools: []string{"read"}})
	require.Equal(t, []string{`[3 bytes left out; load_artifact "event:4" shows them]`}, outputs(r.Contents))
}

func TestHistoryNotesAnOrphanBeforeTheFirstTurn(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "gen/1"}).User("go").Tool(sessiontest.Result("x", "read", "1"))
	r := compiled(t, l)
	require.Equal(t, []string{`event e2: the result of call "x" was left out: no call before it`}, traceOf(t, &r, "history").Notes)
}

func TestTailNeverWritesIntoAnEvent(t *testing.T) {
	t.Parallel()
	room := make([]*genai.Part, 1, 4)
	room[0] = sessiontest.Say("go")
	l := (&sessiontest.Log{Agent: "gen/1"}).User("")
	l.Events[0].Content.Parts = room
	NewCompiler().Compile(Input{Agent: "gen/1", Events: l.Events, Tail: benchTail(1)})
	require.Nil(t, room[:2][1])
}

func TestHistoryOfNoneBeginsAnewWithEachMessage(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "gen/1"}).User("go").Turn(sessiontest.Say("one")).Turn(sessiontest.Say("two")).User("next")
	r := NewCompiler().Compile(Input{Agent: "gen/1", Include: spec.IncludeNone, Events: l.Events})
	require.Equal(t, []string{"next"}, sessiontest.Texts(r.Contents[0].Parts))
}

// A late result and its neighbours come right after their calls, whatever stands between them.
func TestHistoryPairsLateResults(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "gen/1"}).Brief("Task").User("go").Turn(sessiontest.Call("a", "read"), sessiontest.Call("b", "read")).
		Tool(sessiontest.Result("b", "read", "2")).Steer("tabs").
		Tool(sessiontest.Result("a", "read", "1"), sessiontest.Result("never", "read", "orphan")).
		Turn(sessiontest.Call("c", "read")).Turn(sessiontest.Call("d", "read")).
		Tool(sessiontest.Result("d", "read", "3")).Tool(sessiontest.Result("d", "read", "4")).Tool(sessiontest.Result("c", "read", "late"))
	for n := range len(l.Events) + 1 {
		r := NewCompiler().Compile(Input{Agent: "gen/1", Events: l.Events[:n]})
		sessiontest.CheckRequest(t, r.Contents)
	}
	require.Equal(t, []string{"1", "2", "late", "4"}, outputs(NewCompiler().Compile(Input{Agent: "gen/1", Events: l.Events}).Contents))
}

// A session with ten times the events costs about ten times as much, also where the rules of its role look back.
func TestCostGrowsInStepWithTheSession(t *testing.T) { // not parallel: AllocsPerRun counts the whole process
	cost := func(n int) float64 {
		in := benchInput()
		in.Role.Context = spec.ContextRules{Last: n / 10, DropTools: []string{"grep"}, DropAfter: 5}
		in.Events = sessiontest.Session("gen/1", n, 20).Events
		return testing.AllocsPerRun(3, func() { NewCompiler().Compile(in) })
	}
	require.Less(t, cost(10_000)/cost(1_000), 12.0)
}

func TestRequestsShareContents(t *testing.T) {
	t.Parallel()
	in := benchInput()
	in.Events, in.Tail = sessiontest.Session("gen/1", 100, 20).Events, benchTail(1)
	first := NewCompiler().Compile(in).Contents
	last := len(first) - 1
	require.NotSame(t, in.Events[99].Content, first[last], "the tail is on a copy")
	require.Same(t, in.Events[98].Content, first[last-1])
	in.Tail = Tail{}
	require.Same(t, in.Events[99].Content, NewCompiler().Compile(in).Contents[last])
}
