package conduct

import (
	"context"

	"divisi/bus"
	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/station"
	"divisi/subagents/wire"
)

// grant answers what a worker says of the budget, and has others return what it waits for.
func (h *Half) grant(ctx context.Context, held *wire.Holding) (*wire.Grant, error) {
	g, err := h.Cond.Grant(ctx, *held)
	if err != nil {
		return nil, err
	}
	if g.Recall != "" {
		h.Say(ctx, h.Bus, bus.RecallSubject(h.Spec.Run), station.Recall{For: g.Recall})
	}
	return &g, nil
}

// granted is grant for what a worker says of itself alone.
func (h *Half) granted(ctx context.Context, c *call.In, held *wire.Holding) (*wire.Grant, error) {
	if held.Worker != c.From {
		return nil, call.Refusedf("worker %s cannot speak for worker %.80q", c.From, held.Worker)
	}
	return h.grant(ctx, held)
}

// enlist counts on a worker, settles what it has of the budget, and exchanges with it what services have said of quotas.
func (h *Half) enlist(ctx context.Context, c *call.In, e *wire.Enlistment) (a call.Enlisted, err error) {
	if e.Worker != c.From {
		return a, call.Refusedf("worker %s cannot speak for worker %.80q", c.From, e.Worker)
	}
	if err := h.Cond.Enlist(ctx, *e); err != nil {
		return a, err
	}
	for _, limit := range e.Limits {
		limit.From = e.Worker
		h.limits.Take(limit.Taken(depot.Now()))
	}
	for _, limit := range h.limits.List() {
		a.Limits = append(a.Limits, limit.Sent(depot.Now()))
	}
	if e.Holding == nil {
		return a, nil
	}
	a.Grant, err = h.grant(ctx, e.Holding)
	return a, err
}
