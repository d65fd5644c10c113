package compaction_test

import (
	"encoding/json"
	"slices"
	"testing"

	"divisi/contextscope"
	"divisi/contextscope/compaction"
	"divisi/contextscope/compile"
	"divisi/contextscope/content"
	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

// TestCompactionsDoToRequestsWhatTheirRecordsSay compiles a session before and after.
func TestCompactionsDoToRequestsWhatTheirRecordsSay(t *testing.T) {
	t.Parallel()
	events := compaction.WorkEvents()
	size := func(events []contextscope.Event) int {
		sum := 0
		for _, c := range compile.NewCompiler().Compile(compile.Input{Agent: "a/1", Include: spec.IncludeFull, Events: events}).Contents {
			sum += content.Tokens(c)
		}
		return sum
	}
	rules := spec.ContextRules{}.WithDefaults().Compaction
	job, ok := compaction.Plan(events, compaction.PlanInput{Rules: rules, Trigger: contextscope.TriggerShare})
	require.True(t, ok)
	masked, ok := compaction.Prune(events, compaction.PruneInput{Target: compaction.ShownTokens(events) - 100})
	require.True(t, ok)
	dropped, ok := compaction.Prune(events, compaction.PruneInput{Target: 600})
	require.True(t, ok)
	before := size(events)
	for _, c := range []contextscope.Compaction{job.Done(compaction.GoodSnapshot()), masked, dropped} {
		data, err := json.Marshal(c)
		require.NoError(t, err)
		after := append(slices.Clone(events), contextscope.Event{Seq: len(events) + 1, Kind: contextscope.KindCompaction, Data: data})
		require.InDelta(t, before-c.Before+c.After, size(after), 100, "%s of events %d to %d", c.Method, c.From, c.To)
	}
}
