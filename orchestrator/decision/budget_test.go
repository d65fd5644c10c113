package decision_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/run"
)

// A watched run says 80 percent, wraps up at 95, asks where nothing more fits, and goes on with more.
func TestABudgetIsToldAndRaised(t *testing.T) {
	t.Parallel()
	l := started(t, func(s *run.Spec) { s.Budget = spec.Budget{Amount: 1000, Money: true} })
	use := func(money spec.Money) { l.Booked = money }
	use(799)
	require.Empty(t, phase.TellBudget(l.State))
	use(800)
	tell := phase.TellBudget(l.State)
	require.Len(t, tell, 1)
	l.Append("", tell[0].(run.Append).Data)
	require.Empty(t, phase.TellBudget(l.State), "it is told once")
	l.Append("", run.Data{Exhausted: "the call needs about $0.01"})
	d := only(t, l.State, run.DecideBudget)
	require.True(t, d.Reserved)
	for text, why := range map[string]string{
		"5": "in another unit", "0.000000001usd": "is not more than", "x": "is no budget", "-1": "cannot be negative",
	} {
		_, _, err := decision.Take(l.State, run.Answer{ID: d.ID, Option: run.Raise, Text: text, By: "person"})
		require.ErrorContains(t, err, why, text)
	}
	more := spec.Budget{Amount: 5000, Money: true}
	l.Append("", run.Data{Budget: &more})
	for _, open := range decision.Open(l.State) {
		require.NotEqual(t, run.DecideBudget, open.Kind)
	}
	require.Zero(t, l.Said)
}
