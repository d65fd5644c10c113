package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/doctor"
	"divisi/configs"
	"divisi/internal/git"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/orchestrator/console"
	"divisi/orchestrator/needs"
)

func newDoctor(g *globals) *cobra.Command {
	var o doctor.Options
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check that this machine can run Divisi, and print how to fix what is missing",
		Long: `Check git, the sandbox, the message server, keys, gates, disk, caches, optional programs and what
earlier runs left behind. Each finding is ok, a warning (runs work, with less than there could be)
or a problem (runs fail), with the next step. No gate is run, and no model is called without --call.

Exit codes:
  0  no problem; there may be warnings
  1  a problem was found
  2  wrong usage or bad input`,
		Example: "  divisi doctor\n  divisi doctor --call --repo ../other\n  divisi doctor --output json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return g.examine(c.Context(), o) },
	}
	c.Flags().StringVar(&o.Repo, "repo", ".", "the repository whose gates, models and roles are checked")
	c.Flags().StringVar(&o.NATS, "nats", "", "check the NATS server at this URL instead of the built-in one")
	c.Flags().BoolVar(&o.Call, "call", false, "make one short call to each service of the project's models, for a few tokens")
	return c
}

// examine prints each finding as soon as it is known.
func (g *globals) examine(ctx context.Context, o doctor.Options) error {
	if err := checkDir(o.Repo); err != nil {
		return err
	}
	o.Store, o.Top, o.Hint, o.Connect = g.store(), top(o.Repo), hintFor, connectService
	o.Trust = func(c *git.Checkout, p *spec.Project, set configs.RoleSet) doctor.Trust {
		requests, err := needs.Requests(ctx, c, p, set.Repository)
		t := g.trusting(o.Top, c, requests)
		return doctor.Trust{Requests: t.requests, Trusted: t.trusted, State: t.state(), Err: errors.Join(err, t.fault)}
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
		return &endError{codeParked, ""}
	}
	return nil
}

func (g *globals) printFinding(f doctor.Finding) error {
	if g.json() {
		return encodeLine(g.out, f)
	}
	_, err := fmt.Fprintf(g.out, "%-8s %-10s %s\n", f.Level, f.Check, console.Sanitize(g.calls(f.Seen)))
	if err == nil && f.Do != "" {
		_, err = fmt.Fprintf(g.out, "%19s → %s\n", "", console.Sanitize(g.calls(f.Do)))
	}
	return err
}

// connectService makes the client of a service, and what closes it.
func connectService(ctx context.Context, s doctor.Service) (m model.Model, end func(), err error) {
	if s.Provider == spec.ProviderOpenAI {
		m, err = needs.Place{BaseURL: s.BaseURL, KeyEnv: s.KeyEnv}.Connect(nil)
		return m, func() {}, err
	}
	gemini, err := model.NewGemini(ctx, model.Options{})
	if err != nil {
		return nil, nil, err
	}
	return gemini, gemini.Close, nil
}
