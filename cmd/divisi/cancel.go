package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"divisi/orchestrator"
	"divisi/orchestrator/console"
)

func newCancel(g *globals) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "cancel [RUN[/TASK]]",
		Short: "End a run, or one task of it, for good",
		Long: `End a run for good: nothing of it is dispatched again. What has landed so far stays in Divisi's own
repository; divisi publish puts it on a branch. Without RUN, the newest run, after a question. With
/TASK, only that task and the tasks that its agent asked for. To stop a run for a while, use pause,
or press Ctrl-C where it runs; then resume.` + codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi cancel 20261121-101500-1f2e\n  divisi cancel 1f2e/api --reason 'not needed any more'",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return g.cancel(c.Context(), args, reason) },
	}
	c.Flags().StringVar(&reason, "reason", "", "why; kept in the log")
	c.ValidArgsFunction = g.completeRuns
	return c
}

func (g *globals) cancel(ctx context.Context, args []string, reason string) error {
	runID, task, err := g.findTask(ctx, args)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		if err := g.sure(ctx, runID); err != nil {
			return err
		}
	}
	cancel := func(r *orchestrator.Run) (string, error) { return r.Cancel(ctx, task, reason) }
	if task != "" {
		return g.request(ctx, runID, cancel)
	}
	r, err := g.attach(ctx, runID)
	if err != nil {
		return err
	}
	_, err = cancel(r)
	switch err = errors.Join(err, r.Close()); {
	case err != nil:
		return err
	case g.json():
		return encodeLine(g.out, map[string]string{"run": runID, "state": "cancelled"})
	}
	_, err = fmt.Fprintf(g.out, "%s is cancelled\n", runID)
	return err
}

// sure asks whether the run that was not named is the one to cancel. Without a terminal a run has to be named.
func (g *globals) sure(ctx context.Context, run string) error {
	if !isTerminal(g.in) || g.json() {
		return usagef("name the run to cancel; the newest is: divisi cancel %s", run)
	}
	fmt.Fprintf(g.out, "Cancel run %s for good? [y/N] ", run)
	yes, err := answer(ctx, func() (bool, error) { return console.Yes(g.in) })
	if err == nil && !yes {
		err = &endError{codeStopped, "run " + run + " was not cancelled"}
	}
	return err
}
