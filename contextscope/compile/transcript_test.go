package compile

import (
	"fmt"
	"testing"

	"divisi/internal/spec"
	"divisi/internal/testkit/sessiontest"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

// What follows on what is there makes nothing stale: not a turn, its results, steering between them, an orphan result.
func TestTranscriptGrowsInPlace(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "gen/1"}).Brief("Task").User("go").Turn(sessiontest.Call("a", "read"), sessiontest.Call("b", "read")).
		Tool(sessiontest.Result("b", "read", "2")).Steer("tabs").Tool(sessiontest.Result("a", "read", "1"), sessiontest.Result("never", "read", "orphan")).
		Turn(sessiontest.Say("one")).Nudge("go on").Turn(sessiontest.Think("nothing")).Turn(sessiontest.Call("c", "read")).Turn(sessiontest.Call("d", "read")).
		Tool(sessiontest.Result("d", "read", "3")).Tool(sessiontest.Result("d", "read", "4"))
	view := NewCompiler().View(Input{Agent: "gen/1"})
	for _, e := range l.Events {
		view.Append(e)
		require.False(t, view.own.stale, "after %s", e.ID)
		request := view.Compile(Tail{})
		sessiontest.CheckRequest(t, request.Contents)
	}
	view.Append((&sessiontest.Log{Agent: "gen/1"}).Tool(sessiontest.Result("c", "read", "late")).Events...)
	require.True(t, view.own.stale, "a late result reaches back")
	view.Compile(Tail{})
	require.False(t, view.own.stale)
	view.Append((&sessiontest.Log{Agent: "gen/1"}).User("more").Events...)
	require.False(t, view.own.stale)
}

func TestTranscriptOfNoneBeginsAnewWithEachMessage(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "gen/1"}).User("go").Turn(sessiontest.Say("one"))
	view := NewCompiler().View(Input{Agent: "gen/1", Include: spec.IncludeNone, Events: l.Events})
	view.Compile(Tail{})
	view.Append((&sessiontest.Log{Agent: "gen/1"}).Turn(sessiontest.Say("two")).Events...)
	require.False(t, view.own.stale)
	view.Append((&sessiontest.Log{Agent: "gen/1"}).User("next").Events...)
	require.True(t, view.own.stale)
	require.Equal(t, []string{"next"}, sessiontest.Texts(view.Compile(Tail{}).Contents[0].Parts))
}

// Text that was said from a result which a later one replaced is left out for good, also while the newest turn goes on.
func TestTranscriptForgetsWhatWasSaidFromAReplacedResult(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "gen/1"}).Turn(sessiontest.Call("a", "read")).Turn(sessiontest.Call("b", "read")).Tool(sessiontest.Result("a", "read", "old")).
		Turn(sessiontest.Say("from the old")).Tool(sessiontest.Result("a", "read", "new")).Tool(sessiontest.Result("b", "read", "2")).Turn(sessiontest.Say("then")).Turn(sessiontest.Say("last"))
	view := NewCompiler().View(Input{Agent: "gen/1", Role: spec.Role{Context: spec.ContextRules{DropTools: []string{"read"}}}})
	for n, e := range l.Events {
		view.Append(e)
		whole := NewCompiler().Compile(Input{
			Agent: "gen/1", Role: spec.Role{Context: spec.ContextRules{DropTools: []string{"read"}}}, Events: l.Events[:n+1],
		})
		require.Equal(t, textOf(t, whole), textOf(t, view.Compile(Tail{})), "after %s", e.ID)
	}
	require.NotContains(t, textOf(t, view.Compile(Tail{}).Contents), "from the old")
	require.Contains(t, textOf(t, view.Compile(Tail{}).Trace), "event e4: left out: it was said from a result")
	require.Contains(t, outputs(view.Compile(Tail{}).Contents), `[1 bytes left out; load_artifact "event:6" shows them]`)
}

func TestTranscriptSweepsATurnThatWasAnsweredAnew(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "gen/1"}).Turn(sessiontest.Call("b", "read")).Tool(sessiontest.Result("b", "read", "old")).Turn(sessiontest.Say("from the old")).
		Tool(sessiontest.Result("b", "read", "new")).Turn(sessiontest.Say("then"))
	view := NewCompiler().View(Input{Agent: "gen/1", Role: spec.Role{Context: spec.ContextRules{DropTools: []string{"read"}}}})
	for _, e := range l.Events {
		view.Append(e)
		view.Compile(Tail{})
	}
	require.Equal(t, []string{`[3 bytes left out; load_artifact "event:4" shows them]`}, outputs(view.Compile(Tail{}).Contents))
}

func TestTranscriptNotesAnOrphanBeforeTheFirstTurn(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "gen/1"}).User("go").Tool(sessiontest.Result("x", "read", "1"))
	r := compiled(t, l)
	require.Equal(t, []string{`event e2: the result of call "x" was left out: no call before it`}, traceOf(t, &r, "history").Notes)
}

// A request costs what is new: as many allocations behind 100 events as behind 10,000.
func TestViewCostsWhatIsNew(t *testing.T) { // not parallel: AllocsPerRun counts the whole process
	cost := func(n int) float64 {
		in := benchInput()
		in.Events = sessiontest.Session("gen/1", n, 20).Events
		view, i := NewCompiler().View(in), 0
		more := sessiontest.Session("gen/1", 400, 20).Events
		for j := range more {
			more[j].ID = fmt.Sprintf("m%d", j)
		}
		return testing.AllocsPerRun(100, func() {
			view.Append(more[i], more[i+1])
			view.Compile(benchTail(7))
			i += 2
		})
	}
	few, many := cost(100), cost(10_000)
	require.InDelta(t, few, many, 10)
	require.Less(t, many, 400.0)
}

func TestTailNeverWritesIntoAnEvent(t *testing.T) {
	t.Parallel()
	room := make([]*genai.Part, 1, 4)
	room[0] = sessiontest.Say("go")
	l := (&sessiontest.Log{Agent: "gen/1"}).User("")
	l.Events[0].Content.Parts = room
	NewCompiler().View(Input{Agent: "gen/1", Events: l.Events}).Compile(benchTail(1))
	require.Nil(t, room[:2][1])
}

func TestViewSharesContents(t *testing.T) {
	t.Parallel()
	in := benchInput()
	in.Events = sessiontest.Session("gen/1", 100, 20).Events
	view := NewCompiler().View(in)
	first := view.Compile(benchTail(1)).Contents
	last := first[len(first)-1]
	require.NotSame(t, in.Events[99].Content, last, "the tail stands on a copy")
	view.Append((&sessiontest.Log{Agent: "gen/1"}).Turn(sessiontest.Say("next")).Events...)
	second := view.Compile(benchTail(2)).Contents
	require.Same(t, &first[0], &second[0], "one array")
	require.Same(t, in.Events[99].Content, second[len(first)-1], "the content is back in its place")
	require.Len(t, second, len(first)+2)
}
