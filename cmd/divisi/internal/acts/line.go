package acts

import (
	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
)

// NewLine makes divisi line.
func NewLine(g *Globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "line",
		Short: "Stop the line of a run, or start it again",
		Long: `A stopped line dispatches nothing and lands nothing. Attempts and gates that run go on to their end,
and so does the process. It stays stopped through divisi resume, until divisi line start.
`,
		Example: "  divisi line stop 1f2e --reason 'the tests are wrong'\n  divisi line start 1f2e",
		RunE:    cli.NeedsCommand,
	}
	c.AddCommand(g.NewAct("start_line"), g.NewAct("stop_line"))
	return c
}
