package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"divisi/bus"
	"divisi/orchestrator"
)

func newCancel(g *globals) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "cancel [RUN]",
		Short: "End a run for good",
		Long: `End a run for good: nothing of it is dispatched again. What has landed so far stays in Divisi's own
repository and is not published. Without RUN, the newest run. To stop a run and go on later,
press Ctrl-C where it runs, then use resume.` + codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi cancel 20261121-101500-1f2e",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return g.cancelRun(c.Context(), args, reason) },
	}
	c.Flags().StringVar(&reason, "reason", "", "why; kept in the log")
	c.ValidArgsFunction = g.completeRuns
	return c
}

func (g *globals) cancelRun(ctx context.Context, args []string, reason string) error {
	run, err := g.findRun(args)
	if err != nil {
		return err
	}
	b, err := bus.Attach(ctx, g.busDir(run))
	if err == nil {
		defer g.closeBus(b)
		if err := orchestrator.Cancel(ctx, b, run, reason); err != nil {
			return err //nolint:wrapcheck // it names the run
		}
		return g.saidCancelled(run)
	}
	if !errors.Is(err, bus.ErrNoHolder) {
		return fmt.Errorf("connect to the holder of run %s: %w", run, err)
	}
	return g.cancelHeld(ctx, run, reason)
}

// cancelHeld cancels a run that nobody holds: this process is its conductor for a moment.
func (g *globals) cancelHeld(ctx context.Context, run, reason string) error {
	b, _, err := g.openRun(ctx, run)
	if err != nil {
		return err
	}
	defer g.closeBus(b)
	c, err := orchestrator.New(ctx, orchestrator.Config{Run: run, Bus: b, Clock: now, NewID: newID(), Log: g.log})
	if err != nil {
		return err //nolint:wrapcheck // it names the run
	}
	if st := c.State().Run; st.Ended() && st != orchestrator.RunStopped {
		return usagef("run %s is over: %s", run, st)
	}
	if err := c.Cancel(ctx, reason); err != nil {
		return err //nolint:wrapcheck // it names the run
	}
	return g.saidCancelled(run)
}

func (g *globals) saidCancelled(run string) error {
	if g.json() {
		return encodeLine(g.out, map[string]string{"run": run, "state": string(orchestrator.RunCancelled)})
	}
	_, err := fmt.Fprintf(g.out, "%s is cancelled\n", run)
	return err //nolint:wrapcheck // the terminal
}
