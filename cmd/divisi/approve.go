package main

import (
	"context"

	"divisi/orchestrator/console"
	"divisi/orchestrator/run"
)

// printPlan shows an expanded plan: tasks, write sets, overlaps, ceiling.
func (g *globals) printPlan(data run.PlanData) error {
	if g.json() {
		return encodeLine(g.out, data)
	}
	return console.RenderPlan(g.out, data, width(g.out))
}

// approver asks on the terminal, or is nil where there is none.
func (g *globals) approver(h *holder, o runOptions) func(context.Context, run.PlanData) (bool, error) {
	if o.yes {
		return func(context.Context, run.PlanData) (bool, error) { return true, nil }
	}
	if !isTerminal(g.in) || g.json() {
		return nil
	}
	return func(ctx context.Context, plan run.PlanData) (bool, error) {
		return answer(ctx, func() (bool, error) { return h.view.Approve(g.in, plan) })
	}
}

// answer waits for a person. The read of a line cannot be broken off; a person who presses Ctrl-C ends the wait for it, and the
// process ends soon after.
func answer(ctx context.Context, ask func() (bool, error)) (bool, error) {
	type said struct {
		yes bool
		err error
	}
	answer := make(chan said, 1)
	go func() {
		yes, err := ask()
		answer <- said{yes, err}
	}()
	select {
	case s := <-answer:
		return s.yes, s.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}
