package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"divisi/internal/git"
	"divisi/internal/text"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
)

func newResume(g *globals) *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Go on with a run that was stopped or killed",
		Long: `Go on with a run that was stopped, ran out of budget, or whose process was killed at any moment. Its
state is computed from its event log; nothing lands twice, and no paid model answer is paid again.
Without RUN, the newest run.` + codes(codeOK, codeParked, codeUsage, codeStopped, codeMachine),
		Example: "  divisi resume\n  divisi resume 1f2e --budget 3000000",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var budget *int
			if c.Flags().Changed("budget") {
				budget = &o.budget
			}
			return g.resume(c.Context(), args, o, budget)
		},
	}
	f := c.Flags()
	f.IntVar(&o.budget, "budget", 0, "a new budget for the whole run, in tokens; 0 means none")
	f.BoolVar(&o.yes, "yes", false, "approve the plan without prompting")
	f.StringVar(&o.repo, "repo", "", "where the repository is now, if it has moved")
	f.StringVar(&o.dashboard, "dashboard", "", "serve the dashboard at this loopback address")
	o.unverifiedFlag(c)
	o.tapeFlags(c)
	o.sandboxFlag(c)
	c.ValidArgsFunction = g.completeRuns
	return c
}

func (g *globals) resume(ctx context.Context, args []string, o runOptions, budget *int) error {
	if budget != nil && *budget < 0 {
		return usagef("--budget cannot be negative")
	}
	if err := errors.Join(checkPage(o.dashboard), checkSandbox(o.sandbox)); err != nil {
		return err
	}
	defer keepPipes()()
	run, err := g.findRun(args)
	if err != nil {
		return err
	}
	m, err := store.ReadMeta(g.store().Run(run))
	if err != nil {
		return err
	}
	gitCLI, err := git.New(ctx)
	if err != nil {
		return err
	}
	h := &holder{
		g: g, run: run, git: gitCLI, dashboard: o.dashboard, notices: notices(),
		dir: g.store().Run(run),
	}
	if h.bus, err = g.store().Hold(ctx, run, m.NATS); err != nil {
		return err
	}
	defer g.store().Close(h.bus)
	st, err := g.store().Fold(ctx, h.bus, run)
	if err != nil {
		return err
	}
	if err := resumable(st, budget, o.unverified); err != nil {
		return err
	}
	if h.checkout, err = h.origin(ctx, cmp.Or(o.repo, m.Repo, st.Spec.Repo), st.Spec.Base); err != nil {
		return err
	}
	if err := errors.Join(h.checkout.Writable(), needServers(st.Spec)); err != nil {
		return err
	}
	if h.mirror, err = gitCLI.OpenMirror(filepath.Join(h.dir, "repo.git")); err != nil {
		return err
	}
	if h.caches, err = g.cachesOf(h.checkout, m.Demo); err != nil {
		return err
	}
	release, err := h.keep()
	if err != nil {
		return err
	}
	defer release()
	if h.spec = st.Spec; o.repo != "" || m.Lost {
		m.Repo = h.checkout.Top
		if err := m.Write(h.dir); err != nil {
			return err
		}
	}
	h.spec.Repo = h.checkout.Top
	h.unverified = o.unverified
	if m.Lost {
		h.notices = append(h.notices, "run.json was lost and is written again; whether the run was recorded is not known")
	}
	if notice := unrecorded(m, o); notice != "" && !slices.Contains(st.Notices, notice) {
		h.notices = append(h.notices, notice)
	}
	if err := h.openTape(o); err != nil {
		return err
	}
	o.yes = o.yes || st.Spec.AutoApprove
	h.approve = g.approver(h, o)
	end, err := h.carry(ctx, true, budget)
	err = g.finish(ctx, h, end, err)
	h.conclude(ctx, end)
	return err
}

// origin opens the repository that a run started from, wherever it is now.
func (h *holder) origin(ctx context.Context, repo, base string) (*git.Checkout, error) {
	c, err := h.git.Inspect(ctx, repo)
	if err != nil {
		return nil, usagef("the repository of run %s: %v\nIf it has moved: divisi resume %s --repo DIR", h.run, err, h.run)
	}
	if _, err := h.git.Resolve(ctx, c, base); err != nil {
		return nil, usagef("%s no longer has the commit that run %s started from, %s: it was removed by git gc, "+
			"or this is another "+
			"repository\nFetch the commit again, or name the repository that has it: divisi resume %s --repo DIR", c.Top,
			h.run, short(base), h.run)
	}
	return c, nil
}

// unrecorded says that a recording ends here; "" where it goes on, or where there is none.
func unrecorded(m store.Meta, o runOptions) string {
	if m.Record == "" || o.record != "" {
		return ""
	}
	return fmt.Sprintf("the run was recorded in %s, and what comes now is not: --record %s goes on with it",
		m.Record, text.Shell(m.Record))
}

// resumable says why a run cannot go on, if it cannot.
func resumable(st *run.State, budget *int, unverified bool) error {
	switch {
	case st.Status == run.Done || st.Status == run.Parked || st.Status == run.Cancelled:
		return usagef("run %s is over: %s; see: divisi show %s", st.Spec.Run, st.Status, st.Spec.Run)
	case st.StoppedByBudget() && budget == nil:
		return usagef("run %s has used %d of %d tokens; give it more: divisi resume %s --budget %d",
			st.Spec.Run, st.Usage.Total(), st.Budget, st.Spec.Run, 2*st.Budget)
	case budget != nil && *budget > 0 && *budget <= st.Usage.Total():
		return usagef("--budget %d is for the whole run, which has used %d tokens already", *budget, st.Usage.Total())
	case acceptance.Unproven(st) && !unverified:
		return unverifiedError(st, "resume "+st.Spec.Run+" --allow-unverified")
	}
	return nil
}
