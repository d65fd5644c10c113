package runs

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/orchestrator/act"
)

// NewGive makes divisi give.
func NewGive(g *Globals) *cobra.Command {
	var o resumeOptions
	c := &cobra.Command{
		Use:   "give RUN/TASK DIR",
		Short: "Submit your edits from a divisi take directory",
		Long: `Submit all changes of DIR since the commit that its attempt started from, committed or not, without
ignored files, as the next attempt of the task. They pass the same checks as every patch: write set,
acceptance, judge, gates. A failure parks the task, with the reason. The run continues from the newest
commit of its branch, in this process, unless another one is running it, also when it has ended. DIR
does not change. TASK alone is a task of the newest run.` + cli.CodesOfRuns(),
		Example: "  divisi give 1f2e/rewrite-003 ../fix",
		RunE: func(c *cobra.Command, args []string) error {
			run, task, err := g.TaskOf(c.Context(), args[0])
			if err != nil {
				return err
			}
			return g.handIn(c.Context(), run, o, act.Give{Task: task, Dir: args[1]})
		},
	}
	o.flags(c)
	return c
}

// handIn hands in patches for tasks of a run, and continues it unless another process is running it.
func (g *Globals) handIn(ctx context.Context, id string, o resumeOptions, patches act.Args) error {
	if err := g.fitsHost(&o); err != nil {
		return err
	}
	r, err := g.Attach(ctx, id)
	if err != nil {
		return err
	}
	out, err := r.Act(ctx, patches)
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	if err := g.Said(id, out.Text); err != nil || !out.Begins {
		return err
	}
	return g.resume(ctx, []string{id}, o)
}
