package main

import (
	"github.com/spf13/cobra"

	"divisi/orchestrator/act"
)

func newPause(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "pause [RUN]",
		Short: "Pause a run once agents finish their current turn",
		Long: `Dispatch nothing more, let agents finish their turn and commands and gates end, then stop the run.
divisi resume continues it. Ctrl-C where it runs stops it at once. Without RUN, the newest run.` +
			codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi pause\n  divisi pause 1f2e && divisi watch 1f2e",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return g.act(c.Context(), act.Pause{}, args...) },
	}
}
