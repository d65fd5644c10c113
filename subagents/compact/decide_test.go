package compact

import (
	"testing"

	"divisi/contextscope"
	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

func TestDecideIsTheTableOfItsDocumentation(t *testing.T) {
	t.Parallel()
	states := []State{
		{Phase: Idle}, {Phase: Idle, Taken: true}, {Phase: Idle, Failed: true}, {Phase: Running}, {Phase: Ready},
	}
	for _, row := range []struct {
		tokens  int
		tooLong bool
		want    []Action
	}{
		{0, false, []Action{Nothing, Nothing, Nothing, Nothing, Nothing}},
		{399, false, []Action{Nothing, Nothing, Nothing, Nothing, Nothing}},
		{400, false, []Action{Begin, Nothing, Nothing, Nothing, Nothing}},
		{499, false, []Action{Begin, Nothing, Nothing, Nothing, Nothing}},
		{500, false, []Action{Begin, Nothing, Prune, Nothing, SwapIn}},
		{849, false, []Action{Begin, Nothing, Prune, Nothing, SwapIn}},
		{850, false, []Action{RunNow, RunNow, Prune, Wait, SwapIn}},
		{5000, false, []Action{RunNow, RunNow, Prune, Wait, SwapIn}},
		{0, true, []Action{RunNow, RunNow, Prune, Wait, SwapIn}},
		{450, true, []Action{RunNow, RunNow, Prune, Wait, SwapIn}},
	} {
		for i, st := range states {
			st.TooLong = row.tooLong
			rules := spec.ContextRules{}.WithDefaults().Compaction
			require.Equal(t, row.want[i], Decide(row.tokens, 1000, rules, st), "%d tokens, %+v", row.tokens, st)
			if !row.tooLong {
				require.Equal(t, Nothing, Decide(row.tokens, 0, rules, st), "an unknown window has no shares")
			}
		}
	}
}

// Enough turns begin one, whatever the size, and put it in; what the size asks for goes first.
func TestEnoughTurnsAreAReasonToo(t *testing.T) {
	t.Parallel()
	rules := spec.ContextRules{}.WithDefaults().Compaction
	for _, tokens := range []int{0, 450} {
		require.Equal(t, Begin, Decide(tokens, 1000, rules, State{Phase: Idle, Due: true}))
		require.Equal(t, Begin, Decide(tokens, 1000, rules, State{Phase: Idle, Taken: true, Due: true}))
		require.Equal(t, Nothing, Decide(tokens, 1000, rules, State{Phase: Running, Due: true}))
		require.Equal(t, SwapIn, Decide(tokens, 1000, rules, State{Phase: Ready, Due: true}))
	}
	require.Equal(t, RunNow, Decide(900, 1000, rules, State{Phase: Idle, Due: true}))
	require.Equal(t, Prune, Decide(600, 1000, rules, State{Phase: Idle, Failed: true, Due: true}))
	require.Equal(t, Begin, Decide(5, 0, rules, State{Phase: Idle, Due: true}), "turns count in an unknown window too")
}

func TestTurnsCountFromTheNewestAttempt(t *testing.T) {
	t.Parallel()
	s := &session{}
	s.grow(3) // and the call that it begins with
	require.False(t, due(s.events, 5))
	require.True(t, due(s.events, 4))
	require.False(t, due(s.events, 0), "never")
	for _, method := range []string{contextscope.MethodSnapshot, contextscope.MethodFailed} {
		s.take([]contextscope.Compaction{{Method: method}}, nil)
		require.False(t, due(s.events, 2), method)
		s.grow(1)
		require.False(t, due(s.events, 2), method)
		s.grow(1)
		require.True(t, due(s.events, 2), method)
	}
	s.take([]contextscope.Compaction{{Method: contextscope.MethodPrune}}, nil)
	require.True(t, due(s.events, 2), "no model was asked")
}

func TestAnAttemptIsLateUntilTheSessionHasGrown(t *testing.T) {
	t.Parallel()
	for method, want := range map[string][2]bool{
		contextscope.MethodSnapshot: {true, false}, contextscope.MethodFailed: {false, true},
		contextscope.MethodPrune: {false, false},
	} {
		s := &session{}
		s.grow(2)
		s.take([]contextscope.Compaction{{Method: method}}, nil)
		s.take([]contextscope.Compaction{{Method: contextscope.MethodPrune}}, []spec.Usage{{Calls: 1, Prompt: 1 << 20}})
		s.grow(3)
		taken, failed := lately(s.events, window)
		require.Equal(t, want, [2]bool{taken, failed}, method)
		s.grow(2)
		taken, failed = lately(s.events, window)
		require.False(t, taken || failed, "%s: a tenth of the window has come since", method)
	}
}
