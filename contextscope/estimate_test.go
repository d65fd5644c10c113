package contextscope

import (
	"strings"
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

func (l *log) used(u spec.Usage) *log {
	l.add(KindUsage, "gen/1", "")
	l.events[len(l.events)-1].Content, l.events[len(l.events)-1].Data = nil, jsonOf(u)
	return l
}

func TestRatioIsLearntWithinBounds(t *testing.T) {
	t.Parallel()
	require.Equal(t, 2, firstRatio.of(7))
	require.Equal(t, 3, firstRatio.of(8), "rounded up")
	require.Equal(t, 250, learnt(250, 1000).of(1000))
	require.Equal(t, leastRatio, learnt(1, 1000))
	require.Equal(t, greatestOne, learnt(900, 1000))
	require.Equal(t, greatestOne, learnt(900, 0))
}

func TestEstimateIsCalibratedByUsage(t *testing.T) {
	t.Parallel()
	// The request before the first turn is its brief and the question: 900 bytes and the brief's.
	l := (&log{agent: "gen/1"}).user(strings.Repeat("q", 900))
	view := NewCompiler().View(Input{Agent: "gen/1", Brief: Brief{Task: spec.Task{ID: "gen"}}, Events: l.events})
	asked := 900 + len("Task: gen")
	require.Equal(t, firstRatio.of(asked), view.Tokens())

	l.turn(say(strings.Repeat("a", 91))).used(spec.Usage{Calls: 2, Prompt: 400})
	view.Append(l.events[1:]...)
	require.Equal(t, firstRatio.of(asked+91), view.Tokens(), "two calls say nothing of one prompt")

	l.turn(say("")).used(spec.Usage{Calls: 1, Prompt: 500})
	view.Append(l.events[3:]...)
	require.Equal(t, 500, view.Tokens(), "what was asked cost 500, and nothing came since")
	require.Equal(t, 500, view.Compile(Tail{}).Tokens)

	l.steer(strings.Repeat("s", 1000)).used(spec.Usage{Calls: 1, Prompt: 9})
	view.Append(l.events[5:]...)
	require.Equal(t, 1000, view.Tokens(), "usage counts right after a turn only")

	whole := NewCompiler().View(Input{Agent: "gen/1", Brief: Brief{Task: spec.Task{ID: "gen"}}, Events: l.events})
	require.Equal(t, 1000, whole.Tokens())
}

func TestEstimateIsTheSameAfterARebuild(t *testing.T) {
	t.Parallel()
	l := session("gen/1", 10, 500).turn(say("x")).used(spec.Usage{Calls: 1, Prompt: 700})
	for i := range l.events {
		l.events[i].Seq = i + 1
	}
	open := func(events []Event) *View { return NewCompiler().View(Input{Agent: "gen/1", Events: events}) }
	steps := open(nil)
	for _, e := range l.events {
		steps.Append(e)
	}
	require.Equal(t, ratio{700, steps.own.before(t, 10)}, steps.own.usage.ratio)
	// A session that cannot be read in one go owes the measure of its turn until somebody looks.
	late := append([]Event{}, l.events[:4]...)
	late = append(late, (&log{agent: "gen/1"}).tool(result("c0", "read", "late")).events...)
	late = append(late, l.events[4:]...)
	whole := open(late)
	require.True(t, whole.own.stale)
	require.Equal(t, firstRatio, whole.own.usage.ratio)
	whole.Tokens()
	require.Equal(t, ratio{700, whole.own.before(t, 11)}, whole.own.usage.ratio)
}

// before is the size of the request that the transcript's first events make.
func (t *transcript) before(tb testing.TB, n int) int {
	tb.Helper()
	past := newTranscript(t.include, t.rules, t.base, t.fixed)
	past.append(t.events[:n]...)
	past.ready()
	return past.size()
}
