package main

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"divisi/orchestrator/console"
)

// printPlan shows an expanded plan: tasks with briefs and write sets, overlaps, tokens.
func (g *globals) printPlan(plan json.RawMessage) error {
	return g.print(func(b *strings.Builder) error { return console.Plan(b, plan, width(g.out)) }, plan)
}

// confirm asks a person on a terminal. Without a yes the command ends, and no says so.
func (g *globals) confirm(ctx context.Context, to io.Writer, question, no string) error {
	if _, err := io.WriteString(to, question+" [y/N] "); err != nil {
		return err
	}
	yes, err := answer(ctx, func() (bool, error) { return console.Yes(g.in) })
	if err == nil && !yes {
		err = &endError{codeStopped, no}
	}
	return err
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
