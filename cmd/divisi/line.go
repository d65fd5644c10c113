package main

import (
	"github.com/spf13/cobra"

	"divisi/orchestrator/act"
)

func newLine(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "line",
		Short: "Stop the line of a run, or start it again",
		Long: `A stopped line dispatches nothing and lands nothing. Attempts and gates that run go on to their end,
and so does the process. It stays stopped through divisi resume, until divisi line start.
` + codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi line stop 1f2e --reason 'the tests are wrong'\n  divisi line start 1f2e",
		RunE:    needsCommand,
	}
	c.AddCommand(newLineStop(g), newLineStart(g))
	return c
}

func newLineStop(g *globals) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "stop [RUN]", Short: "Let nothing be dispatched, and nothing land",
		Long: "Let nothing be dispatched, and nothing land. Without RUN, the newest run." +
			codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi line stop 1f2e --reason 'the tests are wrong'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return g.act(c.Context(), act.StopLine{Reason: reason}, args...)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why; kept in the log")
	return c
}

func newLineStart(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "start [RUN]", Short: "Let work be dispatched, and land, again",
		Long:    "Let work be dispatched, and land, again. Without RUN, the newest run." + codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi line start 1f2e",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return g.act(c.Context(), act.StartLine{}, args...) },
	}
}
