package main

import (
	"context"

	"divisi/orchestrator"
	"divisi/orchestrator/console"
)

// printPlan shows an expanded plan: tasks, write sets, overlaps, ceiling.
func (g *globals) printPlan(data orchestrator.PlanData) error {
	if g.json() {
		return encodeLine(g.out, data)
	}
	return console.RenderPlan(g.out, data, width(g.out)) //nolint:wrapcheck // the terminal
}

// approver asks on the terminal, or is nil where there is none. The read of a line cannot be broken off; a person who
// presses Ctrl-C ends the wait for it, and the process ends soon after.
func (g *globals) approver(h *holder, o runOptions) func(context.Context, orchestrator.PlanData) (bool, error) {
	if o.yes {
		return func(context.Context, orchestrator.PlanData) (bool, error) { return true, nil }
	}
	if !isTerminal(g.in) || g.json() {
		return nil
	}
	type said struct {
		yes bool
		err error
	}
	return func(ctx context.Context, plan orchestrator.PlanData) (bool, error) {
		answer := make(chan said, 1)
		go func() {
			yes, err := h.view.Approve(g.in, plan)
			answer <- said{yes, err}
		}()
		select {
		case s := <-answer:
			return s.yes, s.err
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}
