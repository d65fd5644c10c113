package report

import (
	"time"

	"divisi/internal/model"
	"divisi/orchestrator/run"
)

// cost returns the price of an attempt's calls, each by the price of its model on its day, and the tokens of the calls whose
// price is unknown.
func cost(s *run.State, a *run.Attempt, role string) (usd float64, unpriced int) {
	for _, c := range a.Calls {
		price, known := priceOf(s, c.Model, c.Time)
		if !known {
			price, known = priceOf(s, s.Spec.Project.ModelName(s.Spec.Roles[role].Model), c.Time)
		}
		if u := c.Usage; known {
			price = price.For(u.Prompt / max(1, u.Calls))
			usd += (float64(u.Prompt-u.Cached)*price.In + float64(u.Cached)*price.Cached +
				float64(u.Output+u.Thoughts)*price.Out) / 1e6 * model.Lookup(c.Model).Factor(c.Tier)
		} else {
			unpriced += u.Total()
		}
	}
	return usd, unpriced
}

// priceOf is what a model costs on a day: the project's own figures, else the built-in table's. Cached input whose price is not
// known costs what input costs; where the project names its own price of input, it keeps the table's discount.
func priceOf(s *run.State, name string, day time.Time) (model.Price, bool) {
	p, known := model.Lookup(name).PriceAt(day)
	if p.Cached == 0 {
		p.Cached = p.In
	}
	own := s.Spec.Project.Model(name)
	if own.PriceIn <= 0 || own.PriceOut <= 0 {
		return p, known
	}
	cached := own.PriceIn
	if known {
		cached *= p.Cached / p.In
	}
	return model.Price{In: own.PriceIn, Out: own.PriceOut, Cached: cached}, true
}
