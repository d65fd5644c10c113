package needs

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/run"
)

// Priced refuses a budget in money where a model that the run can come to call has no price that is known, or a program calls its
// service itself and tells neither its model nor its cost.
func Priced(s *run.Spec, b spec.Budget) error {
	if !b.Money {
		return nil
	}
	prices, list := model.PricesOf(&s.Project), needed(s)
	for _, name := range programs(s) {
		role := s.Roles[name]
		if role.Usage == spec.AgentCodex && role.Gateway == "" {
			return usage.Errorf("the budget is in money, and the program of role %s tells no price of what it uses: give the "+
				"role gateway: %s, or a budget in tokens", name, spec.GatewayOpenAI)
		}
		for _, m := range role.Models {
			list = append(list, need{m, "models of role " + name})
		}
	}
	for _, n := range list {
		if len(prices(s.Project.ModelName(n.model), time.Now())) == 0 {
			return usage.Errorf("the budget is in money, and model %s (%s) %s: set price_in and price_out "+
				"of the model in .divisi/divisi.yaml, or give a budget in tokens", n.named(&s.Project), n.why, spec.NoPrice)
		}
	}
	return nil
}

// Enough refuses a budget that is less than one call of any model role needs, and so buys nothing.
func Enough(s *run.Spec, b spec.Budget) error {
	var cheapest string
	var least int64
	for _, name := range modelRoles(s) {
		role := s.Roles[name]
		n := model.Least(b, model.PricesOf(&s.Project), s.Project.ModelName(role.Model), role.Tier, len(role.Instruction))
		if cheapest == "" || n < least {
			cheapest, least = name, n
		}
	}
	if cheapest == "" || b.IsZero() || b.Amount >= least {
		return nil
	}
	return usage.Errorf("the budget of %s is less than one call needs: role %s reserves at least %s for one",
		b, cheapest, b.Figure(least)+b.Unit())
}

// programs are the roles with a coding agent that the run can come to, in order: all where a master plans.
func programs(s *run.Spec) []string {
	names := slices.Sorted(maps.Keys(s.Roles))
	return slices.DeleteFunc(names, func(name string) bool {
		role := s.Roles[name]
		return role.Usage == "" && role.Gateway == "" || s.Plan != nil && !usesRole(s, name)
	})
}

// outside tells of programs whose calls no budget bounds.
func outside(s *run.Spec) (notices []string) {
	for _, of := range []struct {
		budget spec.Budget
		name   string
	}{{s.Budget, "the budget"}, {s.Project.BudgetDay, spec.DayBudget}} {
		for _, name := range programs(s) {
			if !of.budget.IsZero() && s.Roles[name].Gateway == "" {
				notices = append(notices, fmt.Sprintf("%s does not bound the program of role %s, which calls its service "+
					"itself: it has its own limit alone, and counts when it has ended, as it says itself", of.name, name))
			}
		}
	}
	return notices
}
