package conduct

import (
	"context"

	"divisi/orchestrator/act"
	"divisi/orchestrator/client"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/run"
)

// decider asks a person about what only a person can decide; it is nil where no person can be asked.
func (h *Half) decider() func(context.Context, run.Decision) (act.Decide, error) {
	if h.Decide == nil {
		return nil
	}
	return func(ctx context.Context, d run.Decision) (act.Decide, error) {
		st, err := eventlog.Fold(ctx, h.Bus, h.Spec.Run)
		if err != nil {
			return act.Decide{}, err
		}
		d.Run = st.Spec.Run
		if err := client.Complete(ctx, h.Dir, h.Bus, st, &d); err != nil {
			return act.Decide{}, err
		}
		c, err := h.Decide(ctx, d)
		c.Decision, c.Attempt = d.ID, d.Attempt
		return c, err
	}
}
