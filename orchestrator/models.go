package orchestrator

import (
	"context"
	"fmt"

	"divisi/internal/model"
	"divisi/internal/model/record"
	"divisi/internal/usage"
	"divisi/orchestrator/needs"
	"divisi/orchestrator/run"
)

// models connects to the services of the run's models, or to a recording of them; nil where no role needs one. A replay has no
// budget and no retries: what they led to was recorded.
func (w *work) models(ctx context.Context, rate *model.RateLimit) (model.Model, error) {
	s := &run.Spec{Project: w.setup.Project, Roles: w.setup.Roles, Plan: w.setup.Plan}
	if w.engaged != nil {
		s.Plan = planOf(w.engaged.serves...)
	}
	if w.replay != "" {
		replay, err := record.Load(w.replay, needs.Secrets(s))
		if err != nil {
			return nil, usage.Wrong("replay: %v", err)
		}
		return replay, nil
	}
	recorder, err := w.recorder(needs.Secrets(s))
	if err != nil || !needs.Model(s) {
		return nil, err
	}
	base, end, err := needs.Connect(ctx, s)
	if err != nil {
		return nil, err
	}
	w.later(end)
	var budget *model.Budget
	switch {
	case w.engaged != nil:
		budget = w.engaged.allowance.of(w.setup)
	case w.setup.Budget > 0:
		budget = model.NewBudget(w.setup.Budget, w.setup.Spent)
	}
	m := model.New(base, model.Policy{RateLimit: rate, Budget: budget, Outage: s.Project.Outage()})
	if recorder != nil {
		return recorder.Model(m), nil
	}
	return m, nil
}

// recorder begins the recording; nil where none is wanted. The conducting half is told of what could not be written.
func (w *work) recorder(secrets []string) (*record.Recorder, error) {
	if w.record == "" {
		return nil, nil
	}
	r, err := record.Open(record.Options{Dir: w.record, Run: w.run, Secrets: secrets, OnError: func(err error) {
		w.log.Error().Err(err).Msg("the recording has a gap")
		w.tell(call{name: callGap, body: fmt.Sprintf("record: %d of the exchanges could not be written to %s: "+
			"a replay will end there", w.lost.Add(1), w.record)})
	}})
	if err != nil {
		return nil, usage.Wrong("record: %v", err)
	}
	return r, nil
}
