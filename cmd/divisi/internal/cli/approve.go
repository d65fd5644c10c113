package cli

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"divisi/orchestrator/console"
)

// PrintPlan shows an expanded plan: tasks with briefs and write sets, overlaps, tokens.
func (g *Globals) PrintPlan(plan json.RawMessage) error {
	return g.Print(func(b *strings.Builder) error { return console.Plan(b, plan, Width(g.Out)) }, plan)
}

// Confirm asks a person on a terminal. Without a yes, after Ctrl-C too, the command ends, and no says so; where it is empty, a no
// alone is an end without a text.
func (g *Globals) Confirm(ctx context.Context, to io.Writer, question, no string) error {
	if _, err := io.WriteString(to, question+" [y/N] "); err != nil {
		return err
	}
	yes, err := Answer(ctx, func() (bool, error) { return console.Yes(g.In) })
	if err == nil && !yes || ctx.Err() != nil && no != "" {
		err = &EndError{Code: CodeStopped, Text: no}
	}
	return err
}

// Answer waits for a person. The read of a line cannot be broken off; a person who presses Ctrl-C ends the wait for it, and the
// process ends soon after.
func Answer[T any](ctx context.Context, ask func() (T, error)) (T, error) {
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
