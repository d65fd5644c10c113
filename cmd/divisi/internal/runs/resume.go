package runs

import (
	"context"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/spec"
	"divisi/orchestrator"
)

// NewResume makes divisi resume.
func NewResume(g *Globals) *cobra.Command {
	var o resumeOptions
	c := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Resume a run that was stopped or killed",
		Long: `Resume a run that was stopped, ran out of budget, or whose process was killed at any moment. Its
state is computed from its event log; nothing lands twice, and no paid model answer is paid again.
Without RUN, the newest run.` + cli.CodesOfRuns(),
		Example: "  divisi resume\n  divisi resume 1f2e --budget 3000000",
		RunE:    func(c *cobra.Command, args []string) error { return g.resume(c.Context(), args, o) },
	}
	o.flags(c)
	GroupFlags(c)
	g.NoticeFlags(c)
	g.waitFlag(c)
	return c
}

// resumeOptions are the flags of every command that continues a run.
type resumeOptions struct {
	orchestrator.ResumeOptions
	sandbox   string
	dashboard string
	budget    spec.Budget
}

func (o *resumeOptions) flags(c *cobra.Command) {
	f := c.Flags()
	f.TextVar(&o.budget, "budget", spec.Budget{},
		"a new budget for the whole run, in tokens or dollars such as 5usd; 0 means none")
	f.BoolVar(&o.AutoApprove, "yes", false, "approve the plan without prompting")
	f.StringVar(&o.Repo, "repo", "", "path of the repository, if it has moved")
	f.StringVar(&o.dashboard, "dashboard", "", "serve the dashboard at this loopback address")
	f.BoolVar(&o.AllowUnverified, "allow-unverified", false, allowUnverified)
	f.BoolVar(&o.AllowUnread, "allow-unread", false, allowUnread)
	hostFlags(c, &o.Machine, &o.sandbox)
	c.PreRun = func(c *cobra.Command, _ []string) {
		if c.Flags().Changed("budget") {
			o.Budget = &o.budget
		}
	}
}

func (g *Globals) resume(ctx context.Context, args []string, o resumeOptions) error {
	if err := g.fitsHost(&o); err != nil {
		return err
	}
	id, err := g.FindRun(ctx, args)
	if err != nil {
		return err
	}
	if g.At.URL != "" {
		return g.resumeOn(ctx, id, o)
	}
	o.Run = id
	v, err := g.machine(&o.Machine, o.sandbox)
	if err != nil {
		return err
	}
	if err := v.serve(ctx, o.dashboard); err != nil {
		return err
	}
	defer v.close()
	r, err := orchestrator.Resume(g.Log.WithContext(ctx), o.ResumeOptions)
	if err != nil {
		return err
	}
	return v.follow(ctx, r)
}
