package station

import (
	"context"
	"fmt"

	"divisi/internal/model"
	"divisi/orchestrator/call"
	"divisi/orchestrator/needs"
	"divisi/orchestrator/run"
)

// models connects to the models of the roles that this worker serves, or to a recording of them.
func (w *Work) models(ctx context.Context, rate *model.RateLimit, budget *model.Budget) (model.Model, error) {
	s := &run.Spec{Project: w.Setup.Project, Roles: w.Setup.Roles, Plan: w.party().plan()}
	tape := needs.Tape{Run: w.Run, Record: w.Record, Replay: w.Replay, Gap: w.gap}
	m, end, err := needs.Models(ctx, s, tape, func() model.Policy {
		return model.Policy{RateLimit: rate, Outage: s.Project.Outage(), Budget: budget, Quota: s.Project.Quota()}
	})
	w.Later(end)
	return m, err
}

// gap tells the conducting half of exchanges that could not be recorded.
func (w *Work) gap(err error) {
	w.Log.Error().Err(err).Msg("the recording has a gap")
	tells(w, call.ConductorGap, fmt.Sprintf("record: %d of the exchanges could not be written to %s: "+
		"a replay will end there", w.lost.Add(1), w.Record))
}
