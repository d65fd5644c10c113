package decision

import (
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
		switch {
		case err != nil:
			return nil, "", request.Refusedf("%s", err.Error())
		case b.Money != s.Budget.Money && !b.IsZero():
			return nil, "", request.Refusedf("the budget is %s: stop the run, and resume it with one in another unit", s.Budget)
		case b.Used(s.Used(), 100) || b.Amount <= s.Budget.Amount && !b.IsZero():
			return nil, "", request.Refusedf("%s is not more than the budget of %s", b, s.Budget)
		}
		closed := run.Decided{Kind: run.DecideBudget, Answer: a, Closed: true}
		return []run.Action{run.SetRun(run.Data{Budget: &b, Decision: &closed})}, fmt.Sprintf("the budget is %s now", b), nil
	},
}
