package main

import (
	"github.com/spf13/cobra"

	"divisi/orchestrator"
)

func newSkip(g *globals) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "skip RUN TASK...",
		Short: "Skip tasks and unblock what depends on them",
		Long: `Skip tasks that have not landed, parked ones too. Tasks that depend on them continue as if they had
ended without a change, and a run does not end as parked because of them. A template's name means
its tasks that have not landed. Continue a run that has ended with divisi resume.` +
			codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi skip 1f2e rewrite-003 --reason 'this file will be deleted'",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			return g.request(c.Context(), func(r *orchestrator.Run) (string, error) {
				outcome, err := r.Skip(c.Context(), args[1:], reason)
				return goesOn(r, outcome, err)
			}, args...)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why; kept in the log")
	return c
}
