package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"divisi/orchestrator"
)

func newRetry(g *globals) *cobra.Command {
	var o runOptions
	var r orchestrator.ResumeOptions
	c := &cobra.Command{
		Use:   "retry RUN [TASK...]",
		Short: "Try parked tasks again, also of a run that has ended",
		Long: `Try tasks again that are parked, or that were cancelled one by one: those that are named, the parked
tasks of a template that is named, or all parked ones. What was parked only because of them is opened
with them. Their attempts count from the start, and are told what was tried before. The run goes on
from the newest commit of its branch, in this process where no other carries it out. The branch
divisi/<run> moves forward if it is where Divisi left it, else a new one is made: divisi/<run>-2.` +
			codes(codeOK, codeParked, codeUsage, codeStopped, codeMachine),
		Example: "  divisi retry 1f2e\n  divisi retry 1f2e rewrite-003 api",
		Args:    cobra.MinimumNArgs(1), ValidArgsFunction: g.completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			r.Host, r.AllowUnverified = o.Host, o.AllowUnverified
			if c.Flags().Changed("budget") {
				r.Budget = &o.Budget
			}
			o.Options.Repo = r.Repo
			return g.retry(c.Context(), args, r, &o)
		},
	}
	o.resumeFlags(c, &r)
	return c
}

// retry opens tasks again, and continues the run where no other process carries it out.
func (g *globals) retry(ctx context.Context, args []string, r orchestrator.ResumeOptions, o *runOptions) error {
	id, err := g.findRun(args)
	if err != nil {
		return err
	}
	attached, err := g.attach(ctx, id)
	if err != nil {
		return err
	}
	done, err := attached.Retry(ctx, orchestrator.Retry{
		Tasks: args[1:], Repo: r.Repo,
		Trust: func(ctx context.Context, requests []string) (bool, error) { return g.trusted(ctx, o, requests) },
	})
	if err = errors.Join(err, attached.Close()); err != nil {
		return err
	}
	if err := g.said(id, strings.Join(append([]string{done.Becomes}, done.Changed...), "; ")); err != nil || !done.Alone {
		return err
	}
	return g.resume(ctx, []string{id}, r, o.sandbox)
}
