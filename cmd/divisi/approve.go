package main

import (
	"context"
	"encoding/json"
	"fmt"

	"divisi/orchestrator/console"
)

// printPlan shows an expanded plan: tasks with briefs and write sets, overlaps, tokens.
func (g *globals) printPlan(plan json.RawMessage) error {
	if g.json() {
		_, err := fmt.Fprintf(g.out, "%s\n", plan)
		return err
	}
	var q console.Question
	if err := json.Unmarshal(plan, &q.Plan); err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	return console.RenderPlan(g.out, q.Plan, width(g.out))
}

// answer waits for a person. The read of a line cannot be broken off; a person who presses Ctrl-C ends the wait for it, and the
// process ends soon after.
func answer[T any](ctx context.Context, ask func() (T, error)) (T, error) {
	type said struct {
		answer T
		err    error
	}
	answer := make(chan said, 1)
	go func() {
		a, err := ask()
		answer <- said{a, err}
	}()
	select {
	case s := <-answer:
		return s.answer, s.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
