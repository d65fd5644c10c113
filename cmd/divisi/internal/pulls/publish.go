// Package pulls has the command that hands on what a run has landed: as a branch of the repository, or as pull requests at its
// forge. Its input is a run that no process conducts; before anything is written elsewhere it prints what, and asks.
package pulls

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/cmd/divisi/internal/runs"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/console/reports"
	"divisi/orchestrator/publish"
	"divisi/orchestrator/pull"
)

// Command is divisi publish, with its flags.
type Command struct {
	*runs.Globals

	wanted                       publish.Wanted
	repo, per                    string
	branch, yes, unproven, draft bool
	labels, reviewers            []string
	pace                         pull.Pace
}

// atForge are the flags that need one.
var atForge = []string{
	"remote", "forge", "base", "per", "draft", "auto", "label", "reviewer", "max-open", "per-hour", "unproven", "yes",
}

// NewPublish makes divisi publish.
func NewPublish(g *runs.Globals) *cobra.Command {
	p := &Command{Globals: g}
	c := &cobra.Command{
		Use:   "publish RUN",
		Short: "Open pull requests for landed commits, or put them on a branch",
		Long: `Publish the landed commits of an inactive run. Where a remote of the repository is at a forge, push them and
open one pull request, or one for each group of tasks with --per. It prints what it will write and asks first;
repeating it updates the same pull requests. Where no remote is at a forge, with --branch, and for a run of a
server (--on), put them in your repository as the branch divisi/<run>, and push nothing: if the run is resumed
later, the branch moves with it. Of a run with damaged files the branch has what is left, and the missing tasks
are named: exit code 1.` +
			cli.Codes(cli.CodeOK, cli.CodeParked, cli.CodeUsage, cli.CodeStopped, cli.CodeMachine),
		Example: "  divisi publish 1f2e\n  divisi publish 1f2e --per owner --max-open 10 --draft\n" +
			"  divisi publish 1f2e --branch\n  divisi publish 1f2e --on host --repo ~/src/app",
		RunE: func(c *cobra.Command, args []string) error {
			return p.run(c.Context(), args, slices.ContainsFunc(atForge, c.Flags().Changed))
		},
	}
	f := c.Flags()
	f.StringVar(&p.repo, "repo", "", "with --on: the repository that gets the branch (default the current directory)")
	f.BoolVar(&p.branch, "branch", false, "put the commits on a branch of your repository alone")
	f.StringVar(&p.wanted.Remote, "remote", "", "the remote whose repository gets the pull requests")
	f.StringVar(&p.wanted.Forge, "forge", "", "the kind of its forge, where its address does not tell: github")
	f.StringVar(&p.wanted.Base, "base", "", "the branch to merge into (default the one of the run, else the default branch)")
	f.StringVar(&p.per, "per", "", "a pull request for each "+strings.Join(publish.Groupings, ", ")+"; each is proven by itself")
	f.BoolVar(&p.draft, "draft", false, "open drafts")
	f.BoolVar(&p.wanted.Auto, "auto", false, "have the forge merge when its rules are met: by its queue, else by auto-merge")
	f.StringArrayVar(&p.labels, "label", nil, "a label to add (repeatable)")
	f.StringArrayVar(&p.reviewers, "reviewer", nil, "a reviewer to ask beside those of CODEOWNERS (repeatable)")
	f.IntVar(&p.pace.MaxOpen, "max-open", 0, "the most pull requests of the run that are open at once")
	f.IntVar(&p.pace.PerHour, "per-hour", 0, "the most pull requests that are opened in an hour; wait before others")
	f.BoolVar(&p.unproven, "unproven", false, "publish what the gates have not proven, without prompting")
	f.BoolVar(&p.yes, "yes", false, "write to the forge without prompting")
	c.MarkFlagsMutuallyExclusive("branch", "per")
	return c
}

func (p *Command) run(ctx context.Context, args []string, forge bool) (err error) {
	switch {
	case p.repo != "" && p.At.URL == "":
		return usage.Errorf("--repo is for a run of a server: name the server with --on")
	case forge && (p.branch || p.At.URL != ""):
		return usage.Errorf("--branch and --on publish a branch of your repository alone: leave the flags for pull requests out")
	case p.per != "" && !slices.Contains(publish.Groupings, p.per):
		return usage.Errorf("unknown --per %q; valid: %s", p.per, strings.Join(publish.Groupings, ", "))
	case p.pace.MaxOpen < 0 || p.pace.PerHour < 0:
		return usage.Errorf("--max-open and --per-hour are numbers from 0")
	}
	r, err := p.Open(ctx, args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if p.branch || p.At.URL != "" {
		return p.local(ctx, r)
	}
	t, err := publish.Find(ctx, r, p.wanted)
	if err != nil {
		return err
	}
	if t == nil && forge {
		return usage.Errorf("no remote of the repository is at a known forge, or the run cannot be read whole: "+
			"nothing was pushed\nPut the commits on a branch: %s", p.Calls("divisi publish "+r.ID()+" --branch"))
	}
	if t == nil {
		return p.local(ctx, r)
	}
	defer t.Close()
	if !r.NotRunning() {
		if t.State.Status.Ended() {
			return usage.Errorf("another process has run %s, such as a publish that is under way: try again when it has ended",
				r.ID())
		}
		return usage.With(usage.Errorf("run %s is active: publish it when it has ended", r.ID()), usage.Running, r.ID())
	}
	return p.publish(ctx, t)
}

// local puts what has landed on a branch of the repository of a person.
func (p *Command) local(ctx context.Context, r *orchestrator.Run) (err error) {
	var end orchestrator.Result
	if p.At.URL != "" {
		end, err = p.PublishOn(ctx, r, cmp.Or(p.repo, "."))
	} else {
		end, err = orchestrator.Publish(ctx, r)
	}
	if err != nil {
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
	err = p.Print(func(b *strings.Builder) error {
		fmt.Fprintf(b, "published %s%s%s\n", end.Ref, reports.Unverified(end.Unverified), unfinished)
		cli.WriteStat(b, &end, cli.Columns(p.Out))
		return nil
	}, line)
	if err == nil && end.Missing != "" {
		err = cli.End(cli.CodeParked, "")
	}
	return err
}
