package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func newPublish(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "publish RUN",
		Short: "Put what has landed in a stopped or cancelled run into your repository",
		Long: `Put what has landed in a run that was stopped or cancelled into your repository, as the branch
divisi/<run>. Its final gates have not run. When the run is resumed later, the branch moves with it.` +
			codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi publish 1f2e",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return g.publish(c.Context(), args) },
	}
	c.ValidArgsFunction = g.completeRuns
	return c
}

func (g *globals) publish(ctx context.Context, args []string) error {
	id, err := g.findRun(args)
	if err != nil {
		return err
	}
	r, err := g.attach(ctx, id)
	if err != nil {
		return err
	}
	end, err := r.Publish(ctx)
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	if g.json() {
		line := map[string]string{"run": id, "ref": end.Ref, "head": end.Head}
		if end.Unverified != "" {
			line["unverified"] = end.Unverified
		}
		return encodeLine(g.out, line)
	}
	_, err = fmt.Fprintf(g.out, "published %s%s; its final gates have not run\n", end.Ref, unverifiedNote(end.Unverified))
	if err != nil {
		return err
	}
	return g.printStat(ctx, id, end)
}
