package project

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/cmd/divisi/internal/doctor"
	"divisi/cmd/divisi/internal/runs"
	"divisi/internal/usage"
	"divisi/orchestrator/console/display"
)

// NewDoctor makes divisi doctor.
func NewDoctor(g *Globals) *cobra.Command {
	var o doctor.Options
	var compare, trusted bool
	var project string
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine and print fixes",
		Long: `Check git, the sandbox, the message server, keys, gates, disk, caches, optional programs and what
earlier runs left behind. Each finding is ok, a warning (runs work, with less than there could be)
or a problem (runs fail), with the next step. No gate is run, and no model is called without --call.

With --twin, setup and gates run instead: in the sandbox, and then outside of it as you would run them,
in a clone that is removed afterwards. Each difference is a warning, with its likely cause and what to
write to .divisi/divisi.yaml. Before, you are asked whether the commands may run outside the sandbox.

Exit codes:
  0  no problem; there may be warnings
  1  a problem was found, or with --twin a difference
  2  wrong usage or bad input, or a repository that is not trusted`,
		Example: "  divisi doctor\n  divisi doctor --call --repo ../other\n  divisi doctor --output json\n  divisi doctor --twin",
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case compare && (o.Call || o.NATS+project != ""):
				return usage.Errorf("--twin makes no other check: leave --call, --nats and --project out")
			case compare:
				return g.twin(c.Context(), o.Repo, trusted)
			case trusted:
				return usage.Errorf("--trust-repo is for --twin: nothing else of the repository is run")
			}
			return g.examine(c.Context(), o, project)
		},
	}
	c.Flags().BoolVar(&compare, "twin", false, "compare setup and gates in the sandbox with those in your own shell")
	c.Flags().BoolVar(&trusted, "trust-repo", false, "with --twin: allow its commands to run outside the sandbox, this time")
	c.Flags().StringVar(&o.Repo, "repo", ".", "the repository whose gates, models and roles are checked")
	runs.ProjectFlag(c.Flags(), &project)
	c.Flags().StringVar(&o.NATS, "nats", "", "check the NATS server at this URL instead of the built-in one")
	c.Flags().BoolVar(&o.Call, "call", false, "make one short call to each service of the project's models, for a few tokens")
	return c
}

// twin prints what differs between the sandbox and the user's shell.
func (g *Globals) twin(ctx context.Context, repo string, trusted bool) error {
	if err := cli.CheckDir(repo); err != nil {
		return err
	}
	found, err := g.Twin(ctx, repo, trusted)
	if err != nil {
		return err
	}
	differ := false
	for _, f := range found {
		differ = differ || f.Level != doctor.OK
		if err := g.printFinding(f); err != nil {
			return err
		}
	}
	if differ {
		return cli.End(cli.CodeParked, "")
	}
	return nil
}

// examine prints each finding as soon as it is known.
func (g *Globals) examine(ctx context.Context, o doctor.Options, project string) (err error) {
	if o.Project, err = runs.NamedProject(project); err == nil {
		err = cli.CheckDir(o.Repo)
	}
	if err != nil {
		return err
	}
	o.Store.Path, o.Store.Log, o.Top, o.Hint = g.StateDir, g.Log, cli.Top(o.Repo), cli.HintFor
	o.Trust = func(ctx context.Context) doctor.Trust {
		t, err := g.TrustingWith(ctx, o.Repo, nil, o.Project)
		if !t.Found && t.Trusted {
			t.Fault = nil // a directory that is no repository requests nothing
		}
		return doctor.Trust{Requests: t.Requests, Trusted: t.Trusted, State: t.State(), Err: errors.Join(err, t.Fault)}
	}
	problems := 0
	for f := range doctor.Findings(ctx, o) {
		if f.Level == doctor.Problem {
			problems++
		}
		if err := g.printFinding(f); err != nil {
			return err
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if problems > 0 {
		return cli.End(cli.CodeParked, "")
	}
	return nil
}

func (g *Globals) printFinding(f doctor.Finding) error {
	text := fmt.Sprintf("%-8s %-10s %s\n", f.Level, f.Check, display.Sanitize(g.Calls(f.Seen)))
	if f.Do != "" {
		text += fmt.Sprintf("%19s → %s\n", "", display.Sanitize(g.Calls(f.Do)))
	}
	return g.Print(cli.Say("%s", text), f)
}
