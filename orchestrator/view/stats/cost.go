package stats

import (
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// Cost returns the cost of calls, by their program's statement or by the price rows that the log names, and the tokens of the
// calls without a known one.
func Cost(project *spec.Project, calls []run.Call) (sum spec.Money, unpriced int) {
	var price model.Price
	known, of := false, ""
	for _, c := range calls {
		if c.Price != of { // nearly all calls of an attempt have one price
			price, known = model.PriceOf(project, c.Price)
			of = c.Price
		}
		if c.Cost > 0 {
			sum = sum.Plus(c.Cost)
		} else if known {
			sum = sum.Plus(price.Cost(c.Usage, c.Tier))
		} else {
			unpriced = spec.Plus(unpriced, c.Usage.Total())
		}
	}
	return sum, unpriced
}
