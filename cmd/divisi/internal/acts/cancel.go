package acts

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
)

// NewCancel makes divisi cancel.
func NewCancel(g *Globals) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "cancel [RUN[/TASK]]",
		Short: "End a run, or one task of it, for good",
		Long: `End a run for good: nothing of it is dispatched again. What has landed so far stays in Divisi's own
repository; divisi publish --branch puts it on a branch. Without RUN, the newest run, after a question. With
/TASK, only that task and the tasks that its agent asked for; TASK alone is one of the newest run. To
stop a run for a while, use pause, or press Ctrl-C where it runs; then resume.`,
		Example: "  divisi cancel 20261121-101500-1f2e\n  divisi cancel 1f2e/api --reason 'not needed any more'",
		RunE:    func(c *cobra.Command, args []string) error { return g.cancel(c.Context(), args, reason) },
	}
	c.Flags().StringVar(&reason, "reason", "", "why; kept in the log")
	return c
}

func (g *Globals) cancel(ctx context.Context, args []string, reason string) error {
	runID, task, err := g.FindTask(ctx, args)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		if err := g.sure(ctx, runID); err != nil {
			return err
		}
	}
	cancel := act.Cancel{Task: task, Reason: reason}
	if task != "" {
		return g.Act(ctx, cancel, runID)
	}
	r, err := g.Attach(ctx, runID)
	if err != nil {
		return err
	}
	_, err = r.Act(ctx, cancel)
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	return g.Print(cli.Say("%s is cancelled\n", runID), map[string]string{"run": runID, "state": "cancelled"})
}

// sure asks whether the run that was not named is the one to cancel. Without a terminal a run has to be named.
func (g *Globals) sure(ctx context.Context, run string) error {
	if !g.Interactive() {
		return usage.Errorf("name the run to cancel; the newest is: divisi cancel %s", run)
	}
	return g.Confirm(ctx, g.Out, "Cancel run "+run+" for good?", "run "+run+" was not cancelled")
}
