package report

import (
	"divisi/internal/model"
	"divisi/orchestrator/run"
)

// cost returns the price of an attempt's calls, each by the price of its model on its day, and the tokens of the calls whose
// price is unknown.
func cost(s *run.State, a *run.Attempt, role string) (usd float64, unpriced int) {
	for _, c := range a.Calls {
		price, known := model.PriceOf(&s.Spec.Project, c.Model, c.Time)
		if !known {
			price, known = model.PriceOf(&s.Spec.Project, s.Spec.Roles[role].Model, c.Time)
		}
		if known {
			usd += price.Cost(c.Usage) * model.Lookup(c.Model).Factor(c.Tier)
		} else {
			unpriced += c.Usage.Total()
		}
	}
	return usd, unpriced
}
