package orchestrator

import (
	"context"
	"fmt"

	"divisi/internal/model"
	"divisi/orchestrator/call"
	"divisi/orchestrator/needs"
	"divisi/orchestrator/run"
)

// models connects to the models of the roles that this worker serves, or to a recording of them.
func (w *work) models(ctx context.Context, rate *model.RateLimit) (model.Model, error) {
	s := &run.Spec{Project: w.setup.Project, Roles: w.setup.Roles, Plan: w.setup.Plan}
	if w.engaged != nil {
		s.Plan = planOf(w.engaged.serves...)
	}
	tape := needs.Tape{Run: w.run, Record: w.record, Replay: w.replay, Gap: w.gap}
	m, end, err := needs.Models(ctx, s, tape, func() model.Policy {
		p := model.Policy{RateLimit: rate, Outage: s.Project.Outage()}
		switch {
		case w.engaged != nil:
			p.Budget = w.engaged.allowance.of(w.setup)
		case w.setup.Budget > 0:
			p.Budget = model.NewBudget(w.setup.Budget, w.setup.Spent)
		}
		return p
	})
	w.later(end)
	return m, err
}

// gap tells the conducting half of exchanges that could not be recorded.
func (w *work) gap(err error) {
	w.log.Error().Err(err).Msg("the recording has a gap")
	tells(w, call.ConductorGap, fmt.Sprintf("record: %d of the exchanges could not be written to %s: "+
		"a replay will end there", w.lost.Add(1), w.record))
}
