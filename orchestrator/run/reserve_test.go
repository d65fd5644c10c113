package run_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/runtest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// What calls under way have reserved is no use, but counts for the budget until the call has ended.
func TestCallsUnderWayAreReserved(t *testing.T) {
	t.Parallel()
	l := runtest.New(t, run.Spec{Created: time.Unix(0, 0), Roles: runtest.Roles(), Plan: &spec.Plan{}}, run.Running)
	l.Plan(spec.Task{ID: "a", Role: "generator"})
	l.Dispatched("a", "generator", 1, "c")
	l.Agent("a", 1, contextscope.KindStarted, wire.Started{Delivery: 1})
	most := &spec.Usage{Calls: 1, Prompt: 10, Output: 90}
	l.Agent("a", 1, contextscope.KindUsage, wire.Spent{Call: "x", Reserved: most, Booked: 5})
	l.Agent("a", 1, contextscope.KindUsage, wire.Spent{Call: "y", Reserved: most, Booked: 5})
	require.Equal(t, spec.Sum{Tokens: 200, Money: 10}, l.Reserved)
	require.Zero(t, l.Usage)
	l.Agent("a", 1, contextscope.KindUsage, wire.Spent{Call: "x", Usage: spec.Usage{Calls: 1, Prompt: 7, Output: 1}, Booked: 2})
	l.Agent("a", 1, contextscope.KindUsage, wire.Spent{Call: "y"})
	require.Zero(t, l.Reserved)
	require.Equal(t, spec.Usage{Calls: 1, Prompt: 7, Output: 1}, l.Usage)
	for _, used := range l.Spent {
		require.Equal(t, spec.Sum{Tokens: 8, Money: 2}, used)
	}
	require.Len(t, l.Works["a"].Attempts[1].Calls, 1)
}
