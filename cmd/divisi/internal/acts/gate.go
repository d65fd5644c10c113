package acts

import (
	"github.com/spf13/cobra"

	"divisi/orchestrator/act"
)

// NewGate makes divisi gate.
func NewGate(g *Globals) *cobra.Command {
	return &cobra.Command{
		Use:   "gate RUN NAME -- COMMAND [ARG...]",
		Short: "Add a gate to a run",
		Long: `Add a gate to a run that has not ended, for example one that reads files which no other gate reads. It
runs on the base commit first: a gate that proves nothing there is taken out again. Then it decides about
all that lands, and held patches with unread files are tested with it. It is a gate of this run alone:
write it into .divisi/divisi.yaml for later ones.`,
		Example: "  divisi gate 1f2e windows -- env GOOS=windows go vet ./...",
		RunE: func(c *cobra.Command, args []string) error {
			run, err := g.FindRun(c.Context(), args[:1])
			if err != nil {
				return err
			}
			return g.Act(c.Context(), act.Gate{Name: args[1], Command: args[2:]}, run)
		},
	}
}
