package main

import (
	"context"

	"divisi/orchestrator"

	"github.com/spf13/cobra"
)

func newResume(g *globals) *cobra.Command {
	var o runOptions
	var r orchestrator.ResumeOptions
	c := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Resume a run that was stopped or killed",
		Long: `Resume a run that was stopped, ran out of budget, or whose process was killed at any moment. Its
state is computed from its event log; nothing lands twice, and no paid model answer is paid again.
Without RUN, the newest run.` + codes(codeOK, codeParked, codeUsage, codeStopped, codeMachine),
		Example: "  divisi resume\n  divisi resume 1f2e --budget 3000000",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("budget") {
				r.Budget = &o.Budget
			}
			r.Machine, r.AllowUnverified = o.Machine, o.AllowUnverified
			return g.resume(c.Context(), args, r, o.sandbox)
		},
	}
	o.resumeFlags(c, &r)
	c.ValidArgsFunction = g.completeRuns
	return c
}

// resumeFlags are those of every command that continues a run.
func (o *runOptions) resumeFlags(c *cobra.Command, r *orchestrator.ResumeOptions) {
	f := c.Flags()
	f.IntVar(&o.Budget, "budget", 0, "a new budget for the whole run, in tokens; 0 means none")
	f.BoolVar(&o.AutoApprove, "yes", false, "approve the plan without prompting")
	f.StringVar(&r.Repo, "repo", "", "where the repository is now, if it has moved")
	f.StringVar(&o.Dashboard, "dashboard", "", "serve the dashboard at this loopback address")
	f.BoolVar(&o.AllowUnverified, "allow-unverified", false, allowUnverified)
	o.hostFlags(c)
}

func (g *globals) resume(ctx context.Context, args []string, o orchestrator.ResumeOptions, sandbox string) error {
	if o.Budget != nil && *o.Budget < 0 {
		return usagef("--budget cannot be negative")
	}
	id, err := g.findRun(ctx, args)
	if err != nil {
		return err
	}
	o.Run = id
	v, err := g.machine(&o.Machine, sandbox)
	if err != nil {
		return err
	}
	r, err := orchestrator.Resume(g.log.WithContext(ctx), o)
	if err != nil {
		return err
	}
	return v.follow(ctx, r)
}
