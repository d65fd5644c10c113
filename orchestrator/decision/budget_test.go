package decision_test

import (
	"errors"
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

// The budget of the day is told, asked about and raised as that of the run; the run's own is told apart.
func TestTheBudgetOfADayIsRaised(t *testing.T) {
	t.Parallel()
	limit := spec.Budget{Amount: 1000, Money: true}
	l := started(t, func(s *run.Spec) { s.Budget, s.Project.BudgetDay = spec.Tokens(1_000_000), limit })
	today, spent := run.Day{Date: "2026-11-30", Budget: limit}, spec.Money(799)
	var unknown error
	tell := phase.TellDay(func() (run.Day, spec.Sum, error) { return today, spec.Sum{Money: spent}, unknown })
	takes := func() run.Data {
		told := tell(l.State)[0].(run.Append).Data.(run.Data)
		l.Append("", told)
		require.Empty(t, tell(l.State), "it is told once")
		return told
	}
	require.Empty(t, takes().Notices)
	spent = 950
	require.Equal(t, []string{"95 % of " + spec.DayBudget + " are spent: <$0.01 of <$0.01; agents are asked to finish"}, takes().Notices)
	require.Zero(t, l.Said, "tasks begin, and the run's own budget is told for itself")

	exhausted := "the call needs about $0.01; $0.01 of " + spec.DayBudget + ", $0.01, are spent"
	l.Append("", run.Data{Exhausted: exhausted})
	unknown = errors.New("damaged")
	today.Date = "2026-12-01"
	require.Empty(t, tell(l.State), "what was told holds")
	d := only(t, l.State, run.DecideBudget)
	require.Contains(t, d.Options[0].Does, "all runs of this machine")
	refused := func(texts map[string]string) {
		for text, why := range texts {
			_, _, err := decision.Take(l.State, run.Answer{ID: d.ID, Option: run.Raise, Text: text, By: "person"})
			require.ErrorContains(t, err, why, text)
		}
	}
	refused(map[string]string{"5000000": "is not more than", "0.000000001usd": "is not more than", "x": "is no budget"})
	answered, _, err := decision.Take(l.State, run.Answer{ID: d.ID, Option: run.Raise, Text: "5usd", By: "person"})
	require.NoError(t, err)
	require.NotEmpty(t, answered)
	five := spec.Budget{Amount: 5 * int64(spec.Dollar), Money: true}
	l.Append("", run.Data{BudgetDay: &five})
	require.Empty(t, l.Exhausted.Why)
	require.Equal(t, spec.Tokens(1_000_000), l.Budget)

	unknown, today.Budget = nil, five
	takes()
	l.Append("", run.Data{Exhausted: exhausted})
	d = only(t, l.State, run.DecideBudget)
	refused(map[string]string{"4usd": "is not more than"})
}

// A run that waits for the budget of the day goes on when another day has begun, or another run has raised it. One that waits
// for its own does not.
func TestAnotherDayGoesOn(t *testing.T) {
	t.Parallel()
	of := spec.Tokens(1000)
	for name, next := range map[string]run.Day{
		"another day": {Date: "2026-12-01", Budget: of}, "a raised one": {Date: "2026-11-30", Budget: spec.Tokens(2000)},
	} {
		for exhausted, waits := range map[string]bool{"700 of " + spec.DayBudget + ", 1000, are spent": false, "5 of 5 are spent": true} {
			l := started(t, func(s *run.Spec) { s.Budget, s.Project.BudgetDay = spec.Tokens(5), of })
			today, spent := run.Day{Date: "2026-11-30", Budget: of}, 700
			tell := phase.TellDay(func() (run.Day, spec.Sum, error) { return today, spec.Sum{Tokens: spent}, nil })
			l.Do(tell(l.State))
			l.Append("", run.Data{Exhausted: exhausted, Said: 80})
			require.Empty(t, tell(l.State))
			today, spent = next, 0
			l.Do(tell(l.State))
			require.Equal(t, waits, l.Exhausted.Why != "", name)
			require.Equal(t, 80, l.Said, "what was told of the run's own budget holds")
		}
	}
}

// Where the workers are on other machines, a raise here would not reach them: none is offered.
func TestNoDayOfOtherMachinesIsRaised(t *testing.T) {
	t.Parallel()
	l := started(t, func(s *run.Spec) { s.Project.BudgetDay = spec.Tokens(1000) })
	l.Append("", run.Data{Crew: run.Crew{}})
	l.Append("", run.Data{Exhausted: "700 of " + spec.DayBudget + ", 1000, are spent"})
	d := only(t, l.State, run.DecideBudget)
	require.Len(t, d.Options, 1)
	require.Equal(t, run.StopRun, d.Options[0].Name)
	require.Contains(t, d.Options[0].Does, "a larger budget_day")
}
