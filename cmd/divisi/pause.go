package main

import (
	"context"

	"divisi/orchestrator"

	"github.com/spf13/cobra"
)

func newPause(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "pause [RUN]",
		Short: "Pause a run once agents finish their current turn",
		Long: `Dispatch nothing more, let agents finish their turn and commands and gates end, then stop the run.
divisi resume continues it. Ctrl-C where it runs stops it at once. Without RUN, the newest run.` +
			codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi pause\n  divisi pause 1f2e && divisi watch 1f2e",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return g.pause(c.Context(), args) },
	}
	c.ValidArgsFunction = g.completeRuns
	return c
}

func (g *globals) pause(ctx context.Context, args []string) error {
	run, err := g.findRun(ctx, args)
	if err != nil {
		return err
	}
	return g.request(ctx, run, func(r *orchestrator.Run) (string, error) {
		becomes, err := r.Pause(ctx)
		return becomes + "; resume with: divisi resume " + run, err
	})
}
