package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/console/reports"
)

// NewPublish makes divisi publish.
func NewPublish(g *Globals) *cobra.Command {
	var repo string
	c := &cobra.Command{
		Use:   "publish RUN",
		Short: "Publish landed commits of a stopped or cancelled run, or of one on a server",
		Long: `Publish the landed commits of an inactive run in your repository, as the branch
divisi/<run>. Its final gates have not run. If the run is resumed later, the branch moves with it. Of a
run with damaged files it publishes what is left, and names the tasks that are missing: exit code 1.
With --on, the branch of a run of a server that has ended, which no repository has before.` +
			cli.Codes(cli.CodeOK, cli.CodeParked, cli.CodeUsage, cli.CodeMachine),
		Example: "  divisi publish 1f2e\n  divisi publish 1f2e --on host --repo ~/src/app",
		RunE:    func(c *cobra.Command, args []string) error { return g.publish(c.Context(), args, repo) },
	}
	c.Flags().StringVar(&repo, "repo", "", "with --on: the repository that gets the branch (default the current directory)")
	return c
}

func (g *Globals) publish(ctx context.Context, args []string, repo string) error {
	if repo != "" && g.At.URL == "" {
		return usage.Errorf("--repo is for a run of a server: name the server with --on")
	}
	r, err := g.Open(ctx, args)
	if err != nil {
		return err
	}
	var end orchestrator.Result
	if g.At.URL != "" {
		end, err = g.publishOn(ctx, r, cmp.Or(repo, "."))
	} else {
		end, err = orchestrator.Publish(ctx, r)
	}
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	line := map[string]string{"run": r.ID(), "ref": end.Ref, "head": end.Head}
	if end.Unverified != "" {
		line["unverified"] = end.Unverified
	}
	unfinished := "; its final gates have not run"
	switch end.State {
	case "done", "parked":
		unfinished = ""
	case "":
		unfinished = "; its log cannot be read, and so not whether its final gates have run"
	}
	if end.Missing != "" {
		line["missing"] = end.Missing
		unfinished += "\n" + end.Missing
	}
	err = g.Print(func(b *strings.Builder) error {
		fmt.Fprintf(b, "published %s%s%s\n", end.Ref, reports.Unverified(end.Unverified), unfinished)
		cli.WriteStat(b, &end, cli.Columns(g.Out))
		return nil
	}, line)
	if err == nil && end.Missing != "" {
		err = cli.End(cli.CodeParked, "")
	}
	return err
}
