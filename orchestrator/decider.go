package orchestrator

import (
	"context"

	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/run"
)

// decider asks a person about what only a person can decide; it is nil where no person can be asked.
func (h *conduct) decider() func(context.Context, run.Decision) (run.Answer, error) {
	if h.Decide == nil {
		return nil
	}
	return func(ctx context.Context, d run.Decision) (run.Answer, error) {
		st, err := eventlog.Fold(ctx, h.bus, h.spec.Run)
		if err != nil {
			return run.Answer{}, err
		}
		d.Run = st.Spec.Run
		if err := complete(ctx, h.dir, h.bus, st, &d); err != nil {
			return run.Answer{}, err
		}
		c, err := h.Decide(ctx, d)
		return run.Answer{ID: d.ID, Attempt: d.Attempt, Option: c.Option, Text: c.Text, Of: c.Task, Alike: c.Alike}, err
	}
}
