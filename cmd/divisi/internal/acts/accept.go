package acts

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/inspect"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
)

// NewAccept makes divisi accept.
func NewAccept(g *Globals) *cobra.Command {
	return &cobra.Command{
		Use:   "accept RUN/TASK[/ATTEMPT]",
		Short: "Accept a held patch",
		Long: `Accept the held patch of a task: the gates test it next. Acceptance holds a patch that it doubts
(divisi show RUN/TASK explains why), and --review holds every patch; divisi diff RUN/TASK shows it. To
reject it, send the reason: divisi send RUN/TASK "MESSAGE"; the task's next attempt gets it. A stopped
run keeps the answer and acts on it after resume. Name the attempt that you read, so that a newer patch
is not accepted by mistake. TASK alone is a task of the newest run.`,
		Example: "  divisi accept 1f2e/api",
		RunE:    func(c *cobra.Command, args []string) error { return g.accept(c.Context(), args) },
	}
}

func (g *Globals) accept(ctx context.Context, args []string) error {
	run, task, err := g.FindTask(ctx, args)
	if err != nil {
		return err
	}
	if task == "" {
		return usage.Errorf("name the task: divisi accept %s/TASK", run)
	}
	attempt := 0
	if strings.Contains(task, "/") {
		if _, task, attempt, err = inspect.SplitTask(args[0]); err != nil {
			return err
		}
	}
	return g.Act(ctx, act.Accept{Task: task, Attempt: attempt}, run)
}
