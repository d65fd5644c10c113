// Package inspect has the commands that show runs, tasks and events, and remove runs. Its input are runs of the state directory
// or of a server; its output is text or JSON.
package inspect

import (
	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
)

// Globals are those of every command.
type Globals struct{ *cli.Globals }

// NewDebug makes divisi debug.
func NewDebug(g *Globals) *cobra.Command {
	c := &cobra.Command{
		Use:     "debug",
		Short:   "Show what models saw, and why agents were stopped",
		Long:    "Show the requests to models, and replay the loop guard.",
		Example: "  divisi debug context 1f2e/rewrite-003",
		RunE:    cli.NeedsCommand,
	}
	c.AddCommand(newContext(g), newLoopcheck(g))
	return c
}
