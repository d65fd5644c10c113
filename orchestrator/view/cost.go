package view

import (
	"slices"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// ModelUse is a coding agent's use of one model. Model is empty where it names none; Unpriced are tokens without a known price.
type ModelUse struct {
	Model    string     `json:"model,omitempty"`
	Usage    spec.Usage `json:"usage"`
	Cost     spec.Money `json:"pico_usd"`
	Unpriced int        `json:"unpriced,omitempty"`
}

// pay adds the cost of an attempt's calls to a task, and, of a coding agent, the use of each model.
func (t *Task) pay(s *run.State, a *run.Attempt) {
	sum, unpriced := cost(&s.Spec.Project, a.Calls)
	t.Cost, t.Unpriced = t.Cost.Plus(sum), spec.Plus(t.Unpriced, unpriced)
	if s.Spec.Roles[a.Role].Usage == "" {
		return
	}
	for i, c := range a.Calls {
		at := slices.IndexFunc(t.Models, func(m ModelUse) bool { return m.Model == c.Model })
		if at < 0 {
			at, t.Models = len(t.Models), append(t.Models, ModelUse{Model: c.Model})
		}
		m := &t.Models[at]
		sum, unpriced := cost(&s.Spec.Project, a.Calls[i:i+1])
		m.Usage, m.Cost, m.Unpriced = m.Usage.Add(c.Usage), m.Cost.Plus(sum), spec.Plus(m.Unpriced, unpriced)
	}
}

// cost returns the cost of calls, by their program's statement or by the price rows that the log names, and the tokens of the
// calls without a known one.
func cost(project *spec.Project, calls []run.Call) (sum spec.Money, unpriced int) {
	for _, c := range calls {
		if c.Cost > 0 {
			sum = sum.Plus(c.Cost)
		} else if price, known := model.PriceOf(project, c.Price); known {
			sum = sum.Plus(price.Cost(c.Usage, c.Tier))
		} else {
			unpriced = spec.Plus(unpriced, c.Usage.Total())
		}
	}
	return sum, unpriced
}
