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
		Short: "Hand in what you changed in a directory that divisi take made",
		Long: `Hand in all that DIR changes against the commit that its attempt started from, committed or not, but
for ignored files: as the next attempt of the task. It goes the way of every patch: write set, checks,
judge, gates. What does not pass parks the task, with the reason. The run goes on from the newest
commit of its branch, in this process where no other carries it out, also when it has ended. DIR stays
as it is.` + codes(codeOK, codeParked, codeUsage, codeStopped, codeMachine),
		Example: "  divisi give 1f2e/rewrite-003 ../fix",
		Args:    cobra.ExactArgs(2), ValidArgsFunction: g.completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			r.Host, r.AllowUnverified = o.Host, o.AllowUnverified
			if c.Flags().Changed("budget") {
				r.Budget = &o.Budget
			}
			return g.give(c.Context(), args[0], args[1], r, &o)
		},
	}
	o.resumeFlags(c, &r)
	return c
}

// give hands a patch in, and continues the run where no other process carries it out.
func (g *globals) give(ctx context.Context, to, dir string, o orchestrator.ResumeOptions, flags *runOptions) error {
	id, task, err := g.findTask([]string{to})
	if err != nil {
		return err
	}
	r, err := g.attach(ctx, id)
	if err != nil {
		return err
	}
	becomes, alone, err := r.Give(ctx, task, dir)
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	if err := g.said(id, becomes); err != nil || !alone {
		return err
	}
	return g.resume(ctx, []string{id}, o, flags.sandbox)
}
