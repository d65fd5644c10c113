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

// spent is what a call cost that sent a request.
func spent(calls, prompt, bytes int) map[string]int {
	return map[string]int{"calls": calls, "prompt": prompt, "bytes": bytes}
}

func TestRatioIsLearntWithinBounds(t *testing.T) {
	t.Parallel()
	require.Equal(t, 2, firstRatio.of(7))
	require.Equal(t, 3, firstRatio.of(8), "rounded up")
	r, ok := measured(250, 1000)
	require.True(t, ok)
	require.Equal(t, 250, r.of(1000))
	r, ok = measured(900, 1000)
	require.True(t, ok)
	require.Equal(t, greatestRatio, r)
	for _, absurd := range []int{-7, 0, 1, 100, 1001, 1 << 31, 1 << 62, math.MaxInt} {
		_, ok = measured(absurd, 1000)
		require.False(t, ok, "%d tokens for 1000 bytes", absurd)
	}
	_, ok = measured(900, 0)
	require.False(t, ok)
}

func TestEstimateIsCalibratedByUsage(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "gen/1"}).User(strings.Repeat("q", 900))
	view := open(Input{Agent: "gen/1", Brief: Brief{Task: spec.Task{ID: "gen"}}})
	tokens := func() int {
		view.in.Events = l.Events
		return view.tokens()
	}
	asked := 900 + len("Task: gen")
	require.Equal(t, firstRatio.of(asked), tokens())
	r := view.compile(Tail{})
	require.Equal(t, asked, r.Bytes)

	l.Turn(sessiontest.Say(strings.Repeat("a", 91))).Data(contextscope.KindUsage, spent(2, 400, asked))
	require.Equal(t, firstRatio.of(asked+91), tokens(), "two calls say nothing of one prompt")
	l.Data(contextscope.KindUsage, spec.Usage{Calls: 1, Prompt: 400})
	require.Equal(t, firstRatio.of(asked+91), tokens(), "nor does a cost without a size")

	l.Turn(sessiontest.Say("")).Data(contextscope.KindUsage, spent(1, 500, 1000))
	require.Equal(t, 500, tokens(), "what was asked cost 500, and nothing came since")
	require.Equal(t, 500, view.compile(Tail{}).Tokens)

	l.Steer(strings.Repeat("s", 1000)).Data(contextscope.KindUsage, spent(1, 1, 1000)).Data(contextscope.KindUsage, "damaged")
	require.Equal(t, 1000, tokens(), "what cannot be believed changes nothing")
}
