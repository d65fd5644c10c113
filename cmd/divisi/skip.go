package main

import (
	"github.com/spf13/cobra"

	"divisi/orchestrator/act"
)

func newSkip(g *globals) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "skip RUN[/TASK] [TASK...]",
		Short: "Skip tasks and unblock what depends on them",
		Long: `Skip tasks that have not landed, parked ones too. Tasks that depend on them continue as if they had
ended without a change, and a run does not end as parked because of them. A template's name means its
tasks that have not landed. TASK alone is a task of the newest run. Continue a run that has ended with
divisi resume.` +
			codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi skip 1f2e rewrite-003 --reason 'this file will be deleted'",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			run, tasks, err := g.someTasks(c, args)
			if err != nil {
				return err
			}
			return g.act(c.Context(), act.Skip{Tasks: tasks, Reason: reason}, run)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why; kept in the log")
	return c
}
