package decision

import (
	"cmp"
	"fmt"

	"divisi/internal/spec"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// budget is a budget that allows nothing more. A person raises it while the run waits.
var budget = kind{
	name: run.DecideBudget,
	open: func(s *run.State) []run.Decision {
		if s.Status.Ended() || s.Exhausted.Why == "" {
			return nil
		}
		options, text := []run.Option{
			{
				Name: run.Raise, Does: "set the budget of the whole run to the text, such as " + s.Raised().Text(),
				NeedsText: true,
			},
			{Name: run.StopRun, Does: "stop the run; it can be resumed with another budget"},
		}, "a larger budget: "
		if s.DayOver() {
			options[0].Does = "set the budget of the day, of all runs of this machine, to the text, such as " +
				raisedDay(s).Text() + "; tomorrow the one of the settings counts again"
			options[1].Does, text = "stop the run; it can be resumed on another day", "a larger budget for the day: "
		}
		if s.DayOver() && s.Crew != nil { // their machines count their own days
			options = options[1:]
			options[0].Does += ", or with a larger budget_day"
		}
		if s.Unpriced() {
			options, text = options[1:], "a budget in tokens: "
			options[0].Does = "stop the run; it can be resumed with a budget in tokens, such as " + s.Raised().Text()
		}
		return []run.Decision{{
			ID: run.DecisionID("budget", s.Exhausted.Pos), Pos: s.Exhausted.Pos,
			Text: text + s.Exhausted.Why, Evidence: []string{s.Exhausted.Why}, Options: options,
			Decider: run.ByPerson, Why: "it is your money", Reserved: true,
		}}
	},
	waits: func(*run.Templates, *run.Decision, *run.Task) bool { return true },
	carry: func(s *run.State, _ *run.Decision, a run.Answer) ([]run.Action, string, error) {
		if a.Option == run.StopRun {
			return []run.Action{run.Stop(s.OverBudget(s.Exhausted.Why))}, "the run stops", nil
		}
		b, err := spec.ParseBudget(a.Text)
		closed := run.Decided{Kind: run.DecideBudget, Answer: a, Closed: true}
		switch day := dayBudget(s); {
		case err == nil && s.DayOver() && (b.Money != day.Money || b.Amount <= day.Amount):
			return nil, "", request.Refusedf("%s is not more than %s, %s", b, spec.DayBudget, day)
		case err == nil && s.DayOver():
			return []run.Action{run.SetRun(run.Data{BudgetDay: &b, Decision: &closed})},
				fmt.Sprintf("%s is %s now", spec.DayBudget, b), nil
		case err != nil:
			return nil, "", request.Refusedf("%s", err.Error())
		case b.Money != s.Budget.Money && !b.IsZero():
			return nil, "", request.Refusedf("the budget is %s: stop the run, and resume it with one in another unit", s.Budget)
		case b.Used(s.Used(), 100) || b.Amount <= s.Budget.Amount && !b.IsZero():
			return nil, "", request.Refusedf("%s is not more than the budget of %s", b, s.Budget)
		}
		return []run.Action{run.SetRun(run.Data{Budget: &b, Decision: &closed})}, fmt.Sprintf("the budget is %s now", b), nil
	},
}

// dayBudget is the budget of the day as the run knows it: that of the settings, or the one that a person has set.
func dayBudget(s *run.State) spec.Budget { return cmp.Or(s.Day.Budget, s.Spec.Project.BudgetDay) }

// raisedDay is a budget of the day with which runs that have spent it go on.
func raisedDay(s *run.State) spec.Budget {
	b := dayBudget(s)
	b.Amount *= 2
	return b
}
