package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"divisi/orchestrator"
)

func newGive(g *globals) *cobra.Command {
	var o runOptions
	var r orchestrator.ResumeOptions
	c := &cobra.Command{
		Use:   "give RUN/TASK DIR",
		Short: "Submit your edits from a divisi take directory",
		Long: `Submit all changes of DIR since the commit that its attempt started from, committed or not, without
ignored files, as the next attempt of the task. They pass the same checks as every patch: write set,
acceptance, judge, gates. A failure parks the task, with the reason. The run continues from the newest
commit of its branch, in this process, unless another one is running it, also when it has ended. DIR
does not change.` + codes(codeOK, codeParked, codeUsage, codeStopped, codeMachine),
		Example: "  divisi give 1f2e/rewrite-003 ../fix",
		Args:    cobra.ExactArgs(2), ValidArgsFunction: g.completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			r.Machine, r.AllowUnverified = o.Machine, o.AllowUnverified
			if c.Flags().Changed("budget") {
				r.Budget = &o.Budget
			}
			return g.give(c.Context(), args[0], args[1], r, &o)
		},
	}
	o.resumeFlags(c, &r)
	return c
}

// give submits a patch, and continues the run unless another process is running it.
func (g *globals) give(ctx context.Context, to, dir string, o orchestrator.ResumeOptions, flags *runOptions) error {
	id, task, err := g.findTask(ctx, []string{to})
	if err != nil {
		return err
	}
	r, err := g.attach(ctx, id)
	if err != nil {
		return err
	}
	becomes, notRunning, err := r.Give(ctx, task, dir)
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	if err := g.said(id, becomes); err != nil || !notRunning {
		return err
	}
	return g.resume(ctx, []string{id}, o, flags.sandbox)
}
