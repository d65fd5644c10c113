package subagents

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

func TestRepeats(t *testing.T) {
	t.Parallel()
	turn := func(names ...string) (*genai.Content, *genai.Content) {
		calls, results := &genai.Content{}, &genai.Content{}
		for _, n := range names {
			calls.Parts = append(calls.Parts, genai.NewPartFromFunctionCall("read", map[string]any{"b": 1, "a": n}))
			results.Parts = append(results.Parts, genai.NewPartFromFunctionResponse("read", map[string]any{"output": n}))
		}
		return calls, results
	}
	var r repeats
	for range loopLimit - 1 {
		r = r.add(turn("x"))
	}
	require.Equal(t, loopLimit-1, r.run())
	require.Equal(t, loopLimit, r.add(turn("x")).run())
	require.Equal(t, 1, r.add(turn("x", "y")).run())
	calls, _ := turn("x")
	_, other := turn("y")
	require.Equal(t, 1, r.add(calls, other).run(), "the same call with another result is no repeat")
	require.Equal(t, loopLimit, r.add(turn("x")).nudged().add(turn("x")).add(turn("x")).run(), "two more after a nudge")
	require.Zero(t, repeats(nil).run())
}
