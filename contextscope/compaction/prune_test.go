package compaction

import (
	"strings"
	"testing"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/sessiontest"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"
)

func TestPlanPruneMasksOldLargeResultsFirst(t *testing.T) {
	t.Parallel()
	s := (&story{}).brief().read("a", 8000).read("b", 360).read("c", 8000).read("d", 8000).read("e", 8000)
	before := ShownTokens(s.events)
	c, ok := Prune(s.events, PruneInput{Target: before - 3000, Trigger: contextscope.TriggerLimit})
	require.True(t, ok)
	require.Equal(t, contextscope.MethodPrune, c.Method)
	require.Equal(t, contextscope.TriggerLimit, c.Trigger)
	require.Equal(t, []int{3, 7}, c.Masked, "the oldest two are enough, the small one stays")
	require.Zero(t, c.To, "nothing is left out")
	require.Empty(t, c.Snapshot)
	require.LessOrEqual(t, c.After, before-3000)
	s.compacted(c)
	require.Equal(t, c.After, ShownTokens(s.events))
	c, ok = Prune(s.events, PruneInput{Target: c.After - 10})
	require.True(t, ok)
	require.Equal(t, []int{9}, c.Masked, "what is masked already is not masked again")
	_, ok = Prune(s.events, PruneInput{Target: before})
	require.False(t, ok, "there is room enough")
}

func TestPlanPruneDropsTurnsWhereMasksAreNotEnough(t *testing.T) {
	t.Parallel()
	s := reads(4)
	s.compacted(contextscope.Compaction{Method: contextscope.MethodSnapshot, From: 2, To: 5, Snapshot: Snapshot{
		OverallGoal: "the goal", KeyKnowledge: "hard won", Pinned: []Fact{{FactChangedFile, "stale.go"}},
	}.Render()})
	s.tools(spec.ToolEditFile, map[string]any{"path": "new.go", "new_text": strings.Repeat("n", 2000)}, map[string]any{"output": "ok"})
	s.read("big", 3000).told(contextscope.KindSteering, "steer").read("last", 8000)
	c, ok := Prune(s.events, PruneInput{Target: 10, Facts: Facts{Constraints: []string{"hold"}}})
	require.True(t, ok)
	require.Equal(t, []int{6, 14, 4}, []int{c.From, c.To, c.Turns}, "all but the newest turn, and what led to it stays")
	require.Empty(t, c.Masked, "what is left out needs no mask")
	kept, err := ReadSnapshot(c.Snapshot)
	require.NoError(t, err)
	require.Equal(t, "the goal", kept.OverallGoal)
	require.Equal(t, "hard won", kept.KeyKnowledge)
	require.Equal(t, []Fact{{FactConstraint, "hold"}, {FactChangedFile, "new.go"}}, kept.Pinned)
	require.Contains(t, kept.RecentActions, "event:11 edit_file\nevent:13 read_file")
	require.Contains(t, kept.RecentActions, "4 older turns")

	s.compacted(c)
	s.read("x", 3000).read("y", 3000)
	c, ok = Prune(s.events, PruneInput{Target: 10})
	require.True(t, ok)
	kept, err = ReadSnapshot(c.Snapshot)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(kept.RecentActions, "older turns"), "notes of prunes do not pile up")
	require.Contains(t, kept.RecentActions, "6 older turns", "all that no model has summarised")
}

func TestPlanPruneStopsAtTheTarget(t *testing.T) {
	t.Parallel()
	s := reads(12)
	c, ok := Prune(s.events, PruneInput{Target: 900})
	require.True(t, ok)
	require.LessOrEqual(t, c.After, 900)
	require.Less(t, c.To, 21)
	kept, err := ReadSnapshot(c.Snapshot)
	require.NoError(t, err)
	require.Equal(t, "As the task says.", kept.OverallGoal)
}

func TestShownTokensCountWhatCanBeSaved(t *testing.T) {
	t.Parallel()
	s := reads(3)
	shown := ShownTokens(s.events)
	s.told(contextscope.KindSteering, strings.Repeat("steer ", 100))
	require.Equal(t, shown, ShownTokens(s.events), "steering is always shown")
	require.Equal(t, 150, GrownTokens(s.events[len(s.events)-1:]), "but it does grow the session")
	s.told(contextscope.KindUser, strings.Repeat("words ", 100))
	require.Equal(t, shown+150, ShownTokens(s.events))
}

func TestPlanPruneLeavesWhatCannotShrink(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*story{
		"nothing":      {},
		"one turn":     (&story{}).brief().read("a", 90_000),
		"an open call": (&story{}).brief().add(contextscope.KindTurn, genai.RoleModel, sessiontest.Call("a", "run")),
		"tiny turns":   (&story{}).brief().read("a", 1).read("b", 1),
	} {
		_, ok := Prune(s.events, PruneInput{})
		require.False(t, ok, name)
	}
}

func TestPlanPruneProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawStory(t)
		in := PruneInput{Target: rapid.IntRange(0, 4000).Draw(t, "target")}
		l := openLedger(s.events)
		before := ShownTokens(s.events)
		c, ok := Prune(s.events, in)
		if !ok {
			require.Zero(t, c)
			if before > in.Target && len(l.cuts) > 0 {
				_, possible := Prune(s.events, PruneInput{})
				require.False(t, possible, "where it can do something, it does")
			}
			return
		}
		require.Less(t, c.After, before)
		require.GreaterOrEqual(t, c.To, seqBefore(s.events, l.Floor), "the horizon only moves forward")
		if c.To > seqBefore(s.events, l.Floor) {
			requireClosed(t, s.events, c.To)
		}
		for _, seq := range c.Masked {
			require.Greater(t, seq, c.To)
			require.False(t, l.Masked[placeAfter(s.events, seq)-1])
			require.Less(t, seq, s.events[l.cuts[len(l.cuts)-1]].Seq, "the newest turn stays as it is")
		}
		s.compacted(c)
		require.Equal(t, c.After, ShownTokens(s.events), "the record says what comes of it")
		if c.After > in.Target {
			_, more := Prune(s.events, in)
			require.False(t, more, "out of reach: all that could be done was done")
		}
	})
}
