package runs

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/orchestrator/rebase"
)

// NewRebase makes divisi rebase.
func NewRebase(g *Globals) *cobra.Command {
	var o nextFlags
	c := &cobra.Command{
		Use:   "rebase RUN",
		Short: "Move what a run has landed onto today's base, and prove it again",
		Long: `Move what RUN has landed onto today's commit of the branch that it began on, or onto --onto, such as
origin/main; fetch first. A new run begins there, with the roles, settings and gates of RUN: work whose files
the base has not changed is proven again as one batch; the rest is done again. Templates that match, take findings
or run a command look again, and do what is new as well. Nothing is written to your checkout: the result is a branch
of the new run. Repeated after a kill, it goes on with the run that it has begun.` +
			cli.CodesOfRuns(),
		Example: "  git fetch && divisi rebase 1f2e --onto origin/main",
		RunE: func(c *cobra.Command, args []string) error {
			id, err := g.FindRun(c.Context(), args)
			if err != nil {
				return err
			}
			return g.rebase(c.Context(), id, o)
		},
	}
	o.flags(c)
	return c
}

func (g *Globals) rebase(ctx context.Context, id string, o nextFlags) error {
	return g.next(ctx, id, o, func(s *rebase.Source) (began string, n rebase.Succession, err error) {
		if began, err = s.Began(ctx); began == "" && err == nil {
			n, err = s.Move(ctx)
		}
		return began, n, err
	})
}

// hasMoved reports whether the branch that a run began on has another commit than the run began with, and the run has landed
// something.
func (g *Globals) hasMoved(ctx context.Context, id string) (moved bool, err error) {
	r, err := g.Attach(ctx, id)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return rebase.Moved(g.Log.WithContext(ctx), r)
}

// again are the flags of a run that moves what this one has landed.
func (o *Flags) again() nextFlags {
	n := nextFlags{Flags: *o}
	n.plan, n.project, n.roles, n.Base = "", "", nil, ""
	n.Goal, n.Plan, n.Roles, n.Project, n.Gates = "", nil, nil, nil, nil
	n.dashboard = ""
	return n
}
