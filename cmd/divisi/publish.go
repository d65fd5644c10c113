package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"divisi/orchestrator"
	"divisi/orchestrator/console"
)

func newPublish(g *globals) *cobra.Command {
	var repo string
	c := &cobra.Command{
		Use:   "publish RUN",
		Short: "Publish landed commits of a stopped or cancelled run, or of one on a server",
		Long: `Publish the landed commits of a stopped or cancelled run in your repository, as the branch
divisi/<run>. Its final gates have not run. If the run is resumed later, the branch moves with it. With
--on, the branch of a run of a server that has ended, which no repository has before.` +
			codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi publish 1f2e\n  divisi publish 1f2e --on host --repo ~/src/app",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return g.publish(c.Context(), args, repo) },
	}
	c.Flags().StringVar(&repo, "repo", "", "with --on: the repository that gets the branch (default the current directory)")
	return c
}

func (g *globals) publish(ctx context.Context, args []string, repo string) error {
	if repo != "" && g.at.URL == "" {
		return usagef("--repo is for a run of a server: name the server with --on")
	}
	r, err := g.open(ctx, args)
	if err != nil {
		return err
	}
	var end orchestrator.Result
	if g.at.URL != "" {
		end, err = g.publishOn(ctx, r, cmp.Or(repo, "."))
	} else {
		end, err = r.Publish(ctx)
	}
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
