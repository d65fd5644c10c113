package runs

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/rebase"
)

// nextFlags are those of the commands that begin a run from what another one has landed.
type nextFlags struct {
	Flags
	onto string
}

func (o *nextFlags) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.onto, "onto", "", "the branch or commit, such as origin/main (default the local branch that RUN began on)")
	f.TextVar(&o.Budget, "budget", spec.Budget{}, "stop the run after this many tokens, or dollars such as 5usd")
	f.BoolVar(&o.AllowUnverified, "allow-unverified", false, allowUnverified)
	f.BoolVar(&o.AllowUnread, "allow-unread", false, allowUnread)
	f.StringVar(&o.dashboard, "dashboard", "", "serve the dashboard at this loopback address or port, e.g. 8080")
	hostFlags(c, &o.Machine, &o.sandbox)
	GroupFlags(c)
}

// NewRevert makes divisi revert.
func NewRevert(g *Globals) *cobra.Command {
	var o nextFlags
	c := &cobra.Command{
		Use:   "revert RUN [TASK...]",
		Short: "Undo what a run has landed, as a new run on today's base",
		Long: `Take out what RUN, or some of its tasks with what depends on them, has landed, also where it was merged long
ago: a new run has the inverse of it, on today's commit of its branch, or on --onto. The gates of RUN prove that
as one change, and it lands on a branch of its own, divisi/<run>: take it with divisi merge, or divisi publish.
Where later commits have changed the same lines nothing begins, and each file is told with what touched it.
Your checkout does not change. What has not been merged yet is taken out of the run itself by divisi drop.` +
			cli.CodesOfRuns(),
		Example: "  divisi revert 1f2e\n  divisi revert 1f2e rewrite-003 --onto origin/main",
		RunE: func(c *cobra.Command, args []string) error {
			run, tasks, err := g.FindTasks(c.Context(), args)
			if err != nil {
				return err
			}
			return g.revert(c.Context(), run, tasks, o)
		},
	}
	o.flags(c)
	return c
}

func (g *Globals) revert(ctx context.Context, id string, tasks []string, o nextFlags) error {
	return g.next(ctx, id, o, func(s *rebase.Source) (string, rebase.Succession, error) {
		n, err := s.Revert(ctx, tasks)
		return "", n, err
	})
}

// next begins a run that goes on from what another one has landed, or continues the one that plan names.
func (g *Globals) next(
	ctx context.Context, id string, o nextFlags, plan func(*rebase.Source) (began string, n rebase.Succession, err error),
) (err error) {
	if g.At.URL != "" {
		return usage.Errorf("this begins a run on this machine: leave --on out")
	}
	r, err := g.Attach(ctx, id)
	if err != nil {
		return err
	}
	began, n, err := func() (began string, n rebase.Succession, err error) {
		s, err := rebase.Open(g.Log.WithContext(ctx), r, o.onto)
		if err != nil {
			return "", n, err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		o.Repo, o.Base = s.Checkout.Top, s.Base
		return plan(s)
	}()
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	if began != "" {
		g.Aside("run " + began + " has begun this, and goes on")
		more := resumeOptions{sandbox: o.sandbox, dashboard: o.dashboard}
		more.Machine, more.AllowUnverified, more.AllowUnread = o.Machine, o.AllowUnverified, o.AllowUnread
		return g.resume(ctx, []string{began}, more)
	}
	o.Next = &n
	return g.Start(ctx, o.Flags)
}
