package main

import "github.com/spf13/cobra"

func newLine(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "line",
		Short: "Stop the line of a run, or start it again",
		Long: `A stopped line dispatches nothing and lands nothing. Attempts and gates that run go on to their end,
and so does the process. It stays stopped through divisi resume, until divisi line start.
`,
		Example: "  divisi line stop 1f2e --reason 'the tests are wrong'\n  divisi line start 1f2e",
		RunE:    needsCommand,
	}
	c.AddCommand(g.newAct("start_line"), g.newAct("stop_line"))
	return c
}
