package orchestrator

import (
	"time"

	"divisi/internal/model"
	"divisi/internal/spec"
)

// pay books what a call of an attempt cost by the prices of its model and day, or as unpriced where no price is known.
func (s *State) pay(a *AttemptView, name, role, tier string, u spec.Usage, day time.Time) {
	price, known := s.price(name, day)
	if !known {
		price, known = s.price(s.Spec.Project.ModelName(s.Spec.Roles[role].Model), day)
	}
	if !known {
		a.Unpriced += u.Total()
		return
	}
	price = price.For(u.Prompt / max(1, u.Calls))
	a.USD += (float64(u.Prompt-u.Cached)*price.In + float64(u.Cached)*price.Cached +
		float64(u.Output+u.Thoughts)*price.Out) / 1e6 * model.Lookup(name).Factor(tier)
}

// price is what a model costs on a day: the project's own figures, else the built-in table's. Cached input whose price is not
// known costs what input costs; where the project names its own price of input, it keeps the table's discount.
func (s *State) price(name string, day time.Time) (model.Price, bool) {
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
