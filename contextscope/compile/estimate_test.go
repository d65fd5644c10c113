package compile

import (
	"math"
	"strings"
	"testing"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/sessiontest"

	"github.com/stretchr/testify/require"
)

func TestRatioIsLearntWithinBounds(t *testing.T) {
	t.Parallel()
	require.Equal(t, 2, firstRatio.of(7))
	require.Equal(t, 3, firstRatio.of(8), "rounded up")
	require.Equal(t, 250, firstRatio.after(250, 1000, 1000).of(1000))
	require.Equal(t, greatestOne, firstRatio.after(900, 1000, 1000))
	for _, absurd := range []int{1, 100, 1001, 1 << 31, 1 << 62, math.MaxInt} {
		require.Equal(t, ratio{1, 3}, ratio{1, 3}.after(absurd, 1000, 1000), "%d tokens for 1000 bytes", absurd)
	}
	require.Equal(t, firstRatio, firstRatio.after(900, 0, 0))
	require.Equal(t, firstRatio, firstRatio.after(200, 1000, 999), "something of it may have been trimmed")
	require.Equal(t, ratio{250, 500}, firstRatio.after(250, 1000, 500), "it costs at least as much as that")
}

// What a trimmed request cost says nothing of all that the history holds.
func TestEstimateIsNotLoweredByWhatWasTrimmed(t *testing.T) {
	t.Parallel()
	l := sessiontest.Session("gen/1", 40, 2000)
	view := NewCompiler().View(Input{Agent: "gen/1", Window: 5000, Brief: Brief{Task: spec.Task{ID: "gen"}}, Events: l.Events})
	before := view.Tokens()
	request := view.Compile(Tail{})
	require.Greater(t, before, 10_000)
	require.LessOrEqual(t, request.Tokens, 5000)
	l.Turn(sessiontest.Say("x")).Data(contextscope.KindUsage, spec.Usage{Calls: 1, Prompt: request.Tokens})
	view.Append(l.Events[40:]...)
	require.GreaterOrEqual(t, view.Tokens(), before)
	l.Turn(sessiontest.Say("x")).Data(contextscope.KindUsage, spec.Usage{Calls: 1, Prompt: 7500})
	view.Append(l.Events[42:]...)
	require.Equal(t, ratio{7500, 5000 * 7 / 2}, view.own.usage.ratio, "what fitted by the estimate cost half as much again")
}

func TestEstimateIsCalibratedByUsage(t *testing.T) {
	t.Parallel()
	// The request before the first turn is its brief and the question: 900 bytes and the brief's.
	l := (&sessiontest.Log{Agent: "gen/1"}).User(strings.Repeat("q", 900))
	view := NewCompiler().View(Input{Agent: "gen/1", Brief: Brief{Task: spec.Task{ID: "gen"}}, Events: l.Events})
	asked := 900 + len("Task: gen")
	require.Equal(t, firstRatio.of(asked), view.Tokens())

	l.Turn(sessiontest.Say(strings.Repeat("a", 91))).Data(contextscope.KindUsage, spec.Usage{Calls: 2, Prompt: 400})
	view.Append(l.Events[1:]...)
	require.Equal(t, firstRatio.of(asked+91), view.Tokens(), "two calls say nothing of one prompt")

	l.Turn(sessiontest.Say("")).Data(contextscope.KindUsage, spec.Usage{Calls: 1, Prompt: 500})
	view.Append(l.Events[3:]...)
	require.Equal(t, 500, view.Tokens(), "what was asked cost 500, and nothing came since")
	require.Equal(t, 500, view.Compile(Tail{}).Tokens)

	l.Steer(strings.Repeat("s", 1000)).Data(contextscope.KindUsage, spec.Usage{Calls: 1, Prompt: 9})
	view.Append(l.Events[5:]...)
	require.Equal(t, 1000, view.Tokens(), "usage counts right after a turn only")

	whole := NewCompiler().View(Input{Agent: "gen/1", Brief: Brief{Task: spec.Task{ID: "gen"}}, Events: l.Events})
	require.Equal(t, 1000, whole.Tokens())
}

func TestEstimateIsTheSameAfterARebuild(t *testing.T) {
	t.Parallel()
	l := sessiontest.Session("gen/1", 10, 500).Turn(sessiontest.Say("x")).Data(contextscope.KindUsage, spec.Usage{Calls: 1, Prompt: 700})
	for i := range l.Events {
		l.Events[i].Seq = i + 1
	}
	open := func(events []contextscope.Event) *View {
		return NewCompiler().View(Input{Agent: "gen/1", Events: events})
	}
	steps := open(nil)
	for _, e := range l.Events {
		steps.Append(e)
	}
	require.Equal(t, ratio{700, steps.own.before(t, 10)}, steps.own.usage.ratio)
	// What reaches back is put together anew before the next turn is measured.
	late := append([]contextscope.Event{}, l.Events[:4]...)
	late = append(late, (&sessiontest.Log{Agent: "gen/1"}).Tool(sessiontest.Result("c0", "read", "late")).Events...)
	late = append(late, l.Events[4:]...)
	whole := open(late)
	require.Equal(t, ratio{700, whole.own.before(t, 11)}, whole.own.usage.ratio)
}

// before is the size of the request that the transcript's first events make.
func (t *transcript) before(tb testing.TB, n int) int {
	tb.Helper()
	past := newTranscript(t.in, t.base, t.fixed)
	past.append(t.events[:n]...)
	past.ready()
	return past.size()
}
