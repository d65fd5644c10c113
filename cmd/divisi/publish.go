package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"divisi/orchestrator/console"
)

func newPublish(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "publish RUN",
		Short: "Publish landed commits of a stopped or cancelled run",
		Long: `Publish the landed commits of a stopped or cancelled run in your repository, as the branch
divisi/<run>. Its final gates have not run. If the run is resumed later, the branch moves with it.` +
			codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi publish 1f2e",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return g.publish(c.Context(), args) },
	}
	c.ValidArgsFunction = g.completeRuns
	return c
}

func (g *globals) publish(ctx context.Context, args []string) error {
	id, err := g.findRun(ctx, args)
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
	unfinished := "; its final gates have not run"
	if end.State == "done" || end.State == "parked" {
		unfinished = ""
	}
	_, err = fmt.Fprintf(g.out, "published %s%s%s\n", end.Ref, console.UnverifiedNote(end.Unverified), unfinished)
	if err != nil {
		return err
	}
	return g.printStat(&end)
}
