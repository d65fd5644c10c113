package contextscope

import (
	"fmt"
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

// What follows on what is there makes nothing stale: not a turn, its results, steering between them, an orphan result.
func TestTranscriptGrowsInPlace(t *testing.T) {
	t.Parallel()
	l := (&log{agent: "gen/1"}).brief("Task").user("go").turn(call("a", "read"), call("b", "read")).
		tool(result("b", "read", "2")).steer("tabs").tool(result("a", "read", "1"), result("never", "read", "orphan")).
		turn(say("one")).nudge("go on").turn(think("nothing")).turn(call("c", "read")).turn(call("d", "read")).
		tool(result("d", "read", "3")).tool(result("d", "read", "4"))
	view := NewCompiler().View(Input{Agent: "gen/1"})
	for _, e := range l.events {
		view.Append(e)
		require.False(t, view.own.stale, "after %s", e.ID)
		request := view.Compile(Tail{})
		checkRequest(t, request.Contents)
	}
	view.Append((&log{agent: "gen/1"}).tool(result("c", "read", "late")).events...)
	require.True(t, view.own.stale, "a late result reaches back")
	view.Compile(Tail{})
	require.False(t, view.own.stale)
	view.Append((&log{agent: "gen/1"}).user("more").events...)
	require.False(t, view.own.stale)
}

func TestTranscriptOfNoneBeginsAnewWithEachMessage(t *testing.T) {
	t.Parallel()
	l := (&log{agent: "gen/1"}).user("go").turn(say("one"))
	view := NewCompiler().View(Input{Agent: "gen/1", Include: spec.IncludeNone, Events: l.events})
	view.Compile(Tail{})
	view.Append((&log{agent: "gen/1"}).turn(say("two")).events...)
	require.False(t, view.own.stale)
	view.Append((&log{agent: "gen/1"}).user("next").events...)
	require.True(t, view.own.stale)
	require.Equal(t, []string{"next"}, texts(view.Compile(Tail{}).Contents[0].Parts))
}

// Text that was said from a result which a later one replaced is left out for good, also while the newest turn goes on.
func TestTranscriptForgetsWhatWasSaidFromAReplacedResult(t *testing.T) {
	t.Parallel()
	l := (&log{agent: "gen/1"}).turn(call("a", "read")).turn(call("b", "read")).tool(result("a", "read", "old")).
		turn(say("from the old")).tool(result("a", "read", "new")).tool(result("b", "read", "2")).turn(say("then")).turn(say("last"))
	view := NewCompiler().View(Input{Agent: "gen/1", Role: spec.Role{Context: spec.ContextRules{DropTools: []string{"read"}}}})
	for n, e := range l.events {
		view.Append(e)
		whole := NewCompiler().Compile(Input{
			Agent: "gen/1", Role: spec.Role{Context: spec.ContextRules{DropTools: []string{"read"}}}, Events: l.events[:n+1],
		})
		require.Equal(t, textOf(t, whole), textOf(t, view.Compile(Tail{})), "after %s", e.ID)
	}
	require.NotContains(t, textOf(t, view.Compile(Tail{}).Contents), "from the old")
	require.Contains(t, textOf(t, view.Compile(Tail{}).Trace), "event e4: left out: it was said from a result")
	require.Contains(t, outputs(view.Compile(Tail{}).Contents), `[1 bytes left out; load_artifact "event:6" shows them]`)
}

func TestTranscriptSweepsATurnThatWasAnsweredAnew(t *testing.T) {
	t.Parallel()
	l := (&log{agent: "gen/1"}).turn(call("b", "read")).tool(result("b", "read", "old")).turn(say("from the old")).
		tool(result("b", "read", "new")).turn(say("then"))
	view := NewCompiler().View(Input{Agent: "gen/1", Role: spec.Role{Context: spec.ContextRules{DropTools: []string{"read"}}}})
	for _, e := range l.events {
		view.Append(e)
		view.Compile(Tail{})
	}
	require.Equal(t, []string{`[3 bytes left out; load_artifact "event:4" shows them]`}, outputs(view.Compile(Tail{}).Contents))
}

func TestTranscriptNotesAnOrphanBeforeTheFirstTurn(t *testing.T) {
	t.Parallel()
	l := (&log{agent: "gen/1"}).user("go").tool(result("x", "read", "1"))
	r := compiled(t, l)
	require.Equal(t, []string{`event e2: the result of call "x" was left out: no call before it`}, traceOf(t, &r, "history").Notes)
}

// A request costs what is new: as many allocations behind 100 events as behind 10,000.
func TestViewCostsWhatIsNew(t *testing.T) { // not parallel: AllocsPerRun counts the whole process
	cost := func(n int) float64 {
		in := benchInput()
		in.Events = session("gen/1", n, 20).events
		view, i := NewCompiler().View(in), 0
		more := session("gen/1", 400, 20).events
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
	room[0] = say("go")
	l := (&log{agent: "gen/1"}).user("")
	l.events[0].Content.Parts = room
	NewCompiler().View(Input{Agent: "gen/1", Events: l.events}).Compile(benchTail(1))
	require.Nil(t, room[:2][1])
}

func TestViewSharesContents(t *testing.T) {
	t.Parallel()
	in := benchInput()
	in.Events = session("gen/1", 100, 20).events
	view := NewCompiler().View(in)
	first := view.Compile(benchTail(1)).Contents
	last := first[len(first)-1]
	require.NotSame(t, in.Events[99].Content, last, "the tail stands on a copy")
	view.Append((&log{agent: "gen/1"}).turn(say("next")).events...)
	second := view.Compile(benchTail(2)).Contents
	require.Same(t, &first[0], &second[0], "one array")
	require.Same(t, in.Events[99].Content, second[len(first)-1], "the content is back in its place")
	require.Len(t, second, len(first)+2)
}
