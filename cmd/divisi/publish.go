package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"divisi/orchestrator/console"
)

func newPublish(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "publish RUN",
		Short: "Publish landed commits of a stopped or cancelled run",
		Long: `Publish the landed commits of a stopped or cancelled run in your repository, as the branch
divisi/<run>. Its final gates have not run. If the run is resumed later, the branch moves with it.` +
			codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi publish 1f2e",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return g.publish(c.Context(), args) },
	}
}

func (g *globals) publish(ctx context.Context, args []string) error {
	r, err := g.open(ctx, args)
	if err != nil {
		return err
	}
	end, err := r.Publish(ctx)
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	line := map[string]string{"run": r.ID(), "ref": end.Ref, "head": end.Head}
	if end.Unverified != "" {
		line["unverified"] = end.Unverified
	}
	unfinished := "; its final gates have not run"
	if end.State == "done" || end.State == "parked" {
		unfinished = ""
	}
	return g.print(func(b *strings.Builder) error {
		fmt.Fprintf(b, "published %s%s%s\n", end.Ref, console.UnverifiedNote(end.Unverified), unfinished)
		writeStat(b, &end)
		return nil
	}, line)
}
