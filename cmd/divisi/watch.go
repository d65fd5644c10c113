package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"divisi/orchestrator"
	"divisi/orchestrator/console"
)

func newWatch(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "watch [RUN]",
		Short: "Follow a run from another terminal, or replay a finished one",
		Long: `Follow a run's log from its first event on, from another process. A finished run is replayed.
Without RUN, the newest run.` + codes(codeOK, codeUsage, codeStopped, codeMachine),
		Example: "  divisi watch\n  divisi watch 1f2e --output json | jq .kind",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return g.watch(c.Context(), args) },
	}
	c.ValidArgsFunction = g.completeRuns
	return c
}

func (g *globals) watch(ctx context.Context, args []string) error {
	run, err := g.findRun(args)
	if err != nil {
		return err
	}
	b, err := g.openRun(ctx, run)
	if err != nil {
		return err
	}
	defer g.closeBus(b)
	view := g.newConsole()
	err = console.Follow(ctx, orchestrator.Log{Bus: b, Run: run}, view)
	if cerr := view.Close(); err == nil {
		err = cerr
	}
	if errors.Is(err, context.Canceled) {
		return &endError{codeStopped, ""}
	}
	return err //nolint:wrapcheck // it names the log
}

// newConsole makes the view of a run that fits standard output.
func (g *globals) newConsole() *console.Console {
	tty := isTerminal(g.out) && !g.json()
	return console.New(console.Options{
		Out: g.out, TTY: tty, Width: func() int { return width(g.out) }, Height: func() int { return height(g.out) },
		Color: tty && colourful(), JSON: g.json(), Now: now,
	})
}
