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

// Priced refuses a budget in money where a model that the run can come to call has no price that is known.
func Priced(s *run.Spec, b spec.Budget) error {
	if !b.Money {
		return nil
	}
	prices := model.PricesOf(&s.Project)
	for _, n := range needed(s) {
		if len(prices(s.Project.ModelName(n.model), time.Now())) == 0 {
			return usage.Errorf("the budget is in money, and model %s (%s) has no price that is known: set price_in and "+
				"price_out of the model in .divisi/divisi.yaml, or give a budget in tokens", n.named(&s.Project), n.why)
		}
	}
	return nil
}

// outside tells of programs whose calls no budget bounds.
func outside(s *run.Spec) (notices []string) {
	for _, name := range slices.Sorted(maps.Keys(s.Roles)) {
		role := s.Roles[name]
		if !s.Budget.IsZero() && role.Usage != "" && role.Gateway == "" && usesRole(s, name) {
			notices = append(notices, fmt.Sprintf("the budget does not bound the program of role %s, which calls its service "+
				"itself: it has its own limit alone, and counts when it has ended", name))
		}
	}
	return notices
}
