package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"divisi/internal/git"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
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
	run, err := g.findRun(args)
	if err != nil {
		return err
	}
	b, alone, err := g.store().Open(ctx, run)
	if err != nil {
		return err
	}
	defer g.store().Close(b)
	if !alone {
		return usagef("run %s is active: it publishes what landed at its end; stop it with: divisi pause %s", run, run)
	}
	h := &holder{g: g, run: run, dir: g.store().Run(run)}
	c, err := conductor.New(ctx, conductor.Config{
		Run: run, Bus: b, Clock: now, NewID: newID(), Log: g.log, Publish: h.publish,
	})
	if err != nil {
		return err
	}
	if err := g.store().Check(c.State(), run); err != nil {
		return err
	}
	if err := h.openRepositories(ctx, c.State().Spec); err != nil {
		return err
	}
	ref, err := asMistake(c.PublishLanded(ctx))
	if err != nil {
		return err
	}
	why := acceptance.Unverified(c.State())
	if g.json() {
		line := map[string]string{"run": run, "ref": ref, "head": c.State().Head}
		if why != "" {
			line["unverified"] = why
		}
		return encodeLine(g.out, line)
	}
	if _, err := fmt.Fprintf(g.out, "published %s%s; its final gates have not run\n", ref, unverifiedNote(why)); err != nil {
		return err
	}
	return g.printStat(ctx, h, c.State())
}

// openRepositories opens the user's repository and the run's mirror of it.
func (h *holder) openRepositories(ctx context.Context, s run.Spec) error {
	m, err := store.ReadMeta(h.dir)
	if err != nil {
		return err
	}
	if h.git, err = git.New(ctx); err != nil {
		return err
	}
	if h.checkout, err = h.origin(ctx, cmp.Or(m.Repo, s.Repo), s.Base); err != nil {
		return err
	}
	h.mirror, err = h.git.OpenMirror(filepath.Join(h.dir, "repo.git"))
	return err
}
