package runs

import (
	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/orchestrator/act"
)

// NewDrop makes divisi drop.
func NewDrop(g *Globals) *cobra.Command {
	var o resumeOptions
	var reason string
	c := &cobra.Command{
		Use:   "drop RUN[/TASK] [TASK...]",
		Short: "Take landed tasks out again",
		Long: `Take out what a task has landed, and keep what others have changed since. A task drop-TASK lands the
patch that undoes it: it passes the same checks as every patch, and TASK is dropped then. A failure
parks drop-TASK, and TASK stays landed; divisi skip gives it up. A task of a change set goes out with
its whole set. A task that others depend on, or whose lines others have changed since, stays until
those are dropped. The run continues in this process, unless another one is running it, also when it
has ended. Of several tasks the newest goes out first; where one cannot, all stay. TASK alone is one of
the newest run.` +
			cli.CodesOfRuns(),
		Example: "  divisi drop 1f2e/rewrite-003 --reason 'its callers are slower with it'\n" +
			"  divisi drop 1f2e rewrite-003 rewrite-017 rewrite-211",
		RunE: func(c *cobra.Command, args []string) error {
			run, tasks, err := g.SomeTasks(c, args)
			if err != nil {
				return err
			}
			return g.handIn(c.Context(), run, o, act.Drop{Tasks: tasks, Reason: reason})
		},
	}
	o.flags(c)
	c.Flags().StringVar(&reason, "reason", "", "why; kept in the log")
	return c
}
