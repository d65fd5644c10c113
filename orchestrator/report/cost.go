package report

import (
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// cost is what an attempt's calls cost by what their program stated, else by the price rows that the log names, and the tokens of
// the calls without a known one.
func cost(project *spec.Project, a *run.Attempt) (sum spec.Money, unpriced int) {
	for _, c := range a.Calls {
		if c.Cost > 0 {
			sum += c.Cost
		} else if price, known := model.PriceOf(project, c.Price); known {
			sum += price.Cost(c.Usage, c.Tier)
		} else {
			unpriced += c.Usage.Total()
		}
	}
	return sum, unpriced
}
