package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"divisi/configs"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/dashboard"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
	"divisi/subagents/gate"
)

// runOptions are the flags of run.
type runOptions struct {
	plan, repo, base, nats, dashboard string
	record, replay, sandbox           string
	roles                             []string
	parallel, budget                  int
	yes, dryRun, unverified           bool
	trust, demo                       bool
}

func newRun(g *globals) *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   `run "GOAL" | run --plan FILE`,
		Short: "Carry out a goal, planned by a master agent or by a plan file",
		Long: `Carry out a goal on a repository. With "GOAL", a master agent reads the code, plans, and the plan is
shown for approval. With --plan FILE, a person has planned. Either way the work is done in
parallel in trees of its own, proven by the gates, and landed on one new branch, divisi/<run>.

A model role needs GEMINI_API_KEY (or GOOGLE_API_KEY), or a service of your own (docs/model.md);
plans of command roles need none.` +
			codes(codeOK, codeParked, codeUsage, codeStopped, codeMachine),
		Example: `  divisi run --plan refactor.yaml --dry-run
  divisi run --plan refactor.yaml --parallel 8 --dashboard 127.0.0.1:8080
  divisi run "Move every package from log to slog" --budget 2000000`,
		Args: oneGoal,
		RunE: func(c *cobra.Command, args []string) error { return g.start(c.Context(), args, o) },
	}
	f := c.Flags()
	f.StringVar(&o.plan, "plan", "", "a plan file (YAML); see docs/plan.md")
	f.StringVar(&o.repo, "repo", ".", "the repository")
	f.StringVar(&o.base, "base", "", "start from this commit, ignoring uncommitted changes")
	f.StringSliceVar(&o.roles, "role", nil, "additional role file (repeatable)")
	f.IntVar(&o.parallel, "parallel", 0, "agents at once (default from the project file, else 4)")
	f.IntVar(&o.budget, "budget", 0, "tokens after which the run stops, and resume goes on (default from the project file)")
	f.BoolVar(&o.yes, "yes", false, "approve the plan without prompting")
	f.BoolVar(&o.dryRun, "dry-run", false, "print what --plan would do, and change nothing")
	o.unverifiedFlag(c)
	f.BoolVar(&o.trust, "trust-repo", false, "do what the repository's files request, in this run; see divisi trust --help")
	f.StringVar(&o.nats, "nats", "", "use the NATS server at this URL instead of the built-in one")
	f.StringVar(&o.dashboard, "dashboard", "", "serve the dashboard at this loopback address or port, e.g. 8080")
	o.tapeFlags(c)
	o.sandboxFlag(c)
	return c
}

// start checks everything that can be checked, then begins a run and carries it out.
func (g *globals) start(ctx context.Context, args []string, o runOptions) error {
	if err := o.check(args, g); err != nil {
		return err
	}
	h, err := g.prepare(ctx, args, o)
	if err != nil {
		return err
	}
	return g.begin(ctx, h, o)
}

// maxParallel bounds --parallel: each agent has a work tree of its own.
const maxParallel = 1000

func (o runOptions) check(args []string, g *globals) error {
	goal := strings.TrimSpace(strings.Join(args, " "))
	switch {
	case goal == "" && o.plan == "":
		return usagef("missing goal or plan: divisi run \"GOAL\", or divisi run --plan FILE")
	case goal != "" && o.plan != "":
		return usagef("a goal and --plan at once: the plan file names its own goal")
	case o.dryRun && o.plan == "":
		return usagef("--dry-run needs --plan: a goal is planned by a model")
	case o.dryRun && o.record+o.replay != "":
		return usagef("--dry-run calls no model: there is nothing to record or to replay")
	case o.parallel < 0 || o.budget < 0:
		return usagef("--parallel and --budget cannot be negative")
	case o.parallel > maxParallel:
		return usagef("--parallel %d: %d agents at once is the most", o.parallel, maxParallel)
	case o.plan == "" && !o.yes && (!isTerminal(g.in) || g.json()):
		return usagef("the plan must be approved: run in a terminal, or pass --yes")
	}
	if err := checkSandbox(o.sandbox); err != nil {
		return err
	}
	return checkPage(o.dashboard)
}

// checkPage refuses an address that the dashboard would refuse, before anything is written.
func checkPage(addr string) error {
	if addr == "" {
		return nil
	}
	if _, err := dashboard.New(dashboard.Options{Addr: addr, Run: "none", Log: conductor.Log{}}); err != nil {
		return usagef("--dashboard: %s", strings.TrimPrefix(err.Error(), "dashboard: "))
	}
	return nil
}

// oneGoal takes at most one argument.
func oneGoal(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("the goal is one argument, and there are %d: put it in quotes: divisi run %s",
			len(args), text.Shell(strings.Join(args, " ")))
	}
	return nil
}

// prepare reads everything that a run is made of, without writing anything.
func (g *globals) prepare(ctx context.Context, args []string, o runOptions) (*holder, error) {
	gitCLI, err := git.New(ctx)
	if err != nil {
		return nil, err
	}
	checkout, base, err := inspect(ctx, gitCLI, o)
	if err != nil {
		return nil, err
	}
	set, project, err := files(checkout.Top, o.roles)
	if err != nil {
		return nil, err
	}
	if err := g.trustFirst(ctx, checkout, &project, set, o); err != nil {
		return nil, err
	}
	s := run.Spec{
		Run: newRunID(now()), Goal: strings.Join(args, " "), Repo: checkout.Top, Base: base, Branch: checkout.Branch,
		Submodules: checkout.Submodules,
		Project:    project, Roles: set.Roles, Parallel: first(o.parallel, project.Parallel, 4),
		Budget: first(o.budget, project.Budget), AutoApprove: o.yes, AllowUnverified: o.unverified,
		Created: now(),
	}
	s.Project.Parallel, s.Outputs = s.Parallel, filepath.Join(g.store().Run(s.Run), outputsDir)
	if s.Parallel > maxParallel {
		return nil, usagef(".divisi/divisi.yaml: parallel is %d: %d agents at once is the most", s.Parallel, maxParallel)
	}
	caches, err := g.cachesOf(checkout, o.demo)
	if err != nil {
		return nil, err
	}
	h := &holder{
		g: g, run: s.Run, git: gitCLI, checkout: checkout, spec: s, dashboard: o.dashboard,
		dir: g.store().Run(s.Run), caches: caches, skipped: set.Skipped,
	}
	if err := h.openTape(o); err != nil {
		return nil, err
	}
	return h, h.readPlan(o)
}

// files reads the project and the roles of a repository, once: what is shown of them is what is used.
func files(repo string, roles []string) (configs.RoleSet, spec.Project, error) {
	set, rolesErr := configs.Roles(repo, roles)
	project, projectErr := configs.Project(repo)
	if err := errors.Join(rolesErr, projectErr); err != nil {
		return set, project, err
	}
	return set, project, set.Misfits(&project)
}

// trustFirst lets nothing of the repository run, and nothing be sent, before its requests are trusted. A dry run shows them, does
// none of them and asks nobody: the variables that they want stay away from the commands of shard rules.
func (g *globals) trustFirst(
	ctx context.Context, checkout *git.Checkout, project *spec.Project, set configs.RoleSet, o runOptions,
) error {
	t := g.trusting(checkout.Top, checkout, project, set)
	switch {
	case !o.dryRun && t.store == nil:
		return t.fault
	case !o.dryRun && o.trust, o.dryRun && len(t.requests) == 0:
		return nil
	case !o.dryRun:
		return t.settle(ctx, g)
	case !t.trusted && !o.trust:
		project.Env = nil
	}
	return t.show(g, t.text())
}

func (h *holder) readPlan(o runOptions) error {
	if o.plan == "" {
		return errors.Join(needServers(h.spec), h.needKey())
	}
	plan, positions, err := configs.LoadPlan(o.plan)
	if positions != nil { // faults of form and of meaning are told at once
		problems := plan.Validate(spec.Env{Roles: h.spec.Roles, Gates: gateNames(h.spec.Project)})
		err = positions.Error(append(problems, skippedRoles(plan, h.skipped)...))
	}
	if err != nil {
		return err
	}
	h.spec.Plan, h.positions = &plan, positions
	if h.spec.Goal = plan.Goal; h.spec.Goal == "" {
		h.spec.Goal = filepath.Base(o.plan)
	}
	if err := needServers(h.spec); err != nil || o.dryRun {
		return err
	}
	if err := needSecrets(h.spec); err != nil {
		return err
	}
	if needsModel(h.spec) {
		return h.needKey()
	}
	return nil
}

// needKey fails before anything is written when the model's service cannot be reached for want of a key.
func (h *holder) needKey() error {
	if h.tape.replay != nil {
		return nil
	}
	_, gemini, err := h.providers(context.Background())
	if gemini != nil {
		gemini.Close()
	}
	return err
}

// gateNames lists the gates of a project file; nil when they are still to be detected.
func gateNames(p spec.Project) []string {
	if len(p.Gates) == 0 {
		return nil
	}
	names := make([]string, 0, len(p.Gates))
	for _, g := range p.Gates {
		names = append(names, g.Name)
	}
	return names
}

// inspect reads the user's checkout and chooses the base commit. What a run would silently leave behind is refused; what it reads
// from the checkout itself is not left behind, wherever it lies. A dry run leaves nothing behind and refuses nothing.
func inspect(ctx context.Context, g *git.Git, o runOptions) (*git.Checkout, string, error) {
	if err := checkDir(o.repo); err != nil {
		return nil, "", err
	}
	c, err := g.Inspect(ctx, o.repo)
	if err == nil && !o.dryRun {
		err = errors.Join(c.Writable(), g.CheckBranch(ctx, c, conductor.IntegrationRef("x")))
	}
	if err != nil {
		return nil, "", err
	}
	rev, dirty := o.base, withoutOwn(without(c.Dirty, c.Top, append(o.roles, o.plan, o.record, o.replay)), c.Top)
	switch {
	case rev != "" || o.dryRun:
	case c.Branch == "":
		return nil, "", usagef("%s has no branch checked out (detached head at %s)\n"+
			"Check out a branch, or name the commit: --base HEAD", c.Top, short(c.Head))
	case len(dirty) > 0:
		return nil, "", usagef("%s has changes that are not committed: %s\n"+
			"Commit or stash them, or start from the last commit without them: --base HEAD", c.Top, some(dirty))
	}
	if rev == "" {
		return c, c.Head, nil
	}
	base, err := g.Resolve(ctx, c, rev)
	if err != nil {
		return nil, "", usagef("--base %s: %v", rev, err)
	}
	return c, base, nil
}

func some(list []string) string {
	const most = 5
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

func first(values ...int) int {
	for _, v := range values {
		if v > 0 {
			return v
		}
	}
	return 0
}

// begin makes the run's directory and carries the run out. A run that could not begin leaves nothing behind.
func (g *globals) begin(ctx context.Context, h *holder, o runOptions) (err error) {
	defer keepPipes()()
	if o.dryRun {
		tmp, err := os.MkdirTemp("", "divisi-dry-run-")
		if err != nil {
			return fmt.Errorf("make a temporary directory: %w", err)
		}
		h.dir, h.caches = tmp, filepath.Join(tmp, "caches")
	}
	if err := makeDir(h.dir, o.dryRun); err != nil {
		return err
	}
	if !o.dryRun {
		release, err := h.keep()
		if err != nil {
			return err
		}
		defer release()
	}
	defer func() {
		if !h.begun {
			err = errors.Join(err, os.RemoveAll(h.dir))
		}
	}()
	if h.mirror, err = h.git.CreateMirror(ctx, filepath.Join(h.dir, "repo.git"), h.checkout, h.spec.Base); err == nil {
		err = h.findGates(ctx)
	}
	if err == nil {
		err = h.tryPlan(ctx, o)
	}
	if err == nil {
		err = h.needGates(o)
	}
	if err != nil || o.dryRun {
		return err
	}
	m := store.Meta{Repo: h.spec.Repo, NATS: o.nats, Demo: o.demo}
	if o.record != "" {
		if m.Record, err = filepath.Abs(o.record); err != nil {
			return fmt.Errorf("--record: %w", err)
		}
	}
	if err := m.Write(h.dir); err != nil {
		return err
	}
	if h.bus, err = g.store().Hold(ctx, h.run, o.nats); err != nil {
		return err
	}
	defer g.store().Close(h.bus)
	h.approve = g.approver(h, o)
	h.notices = slices.Concat(notices(), roleNotices(h.spec), programNotices(h.spec))
	st, err := h.carry(ctx, false, nil)
	err = g.finish(ctx, h, st, err)
	h.conclude(ctx, st)
	return err
}

// findGates detects the gates where the project file names none.
func (h *holder) findGates(ctx context.Context) error {
	if len(h.spec.Project.Gates) > 0 {
		return nil
	}
	gates, err := gate.DetectAt(ctx, h.mirror, h.spec.Base)
	h.spec.Project.Gates = gates
	return err
}

// tryPlan expands a plan file before the run exists, so that its faults are told at once.
func (h *holder) tryPlan(ctx context.Context, o runOptions) error {
	if h.spec.Plan == nil {
		return nil
	}
	data, problems, err := plan.Prepare(ctx, *h.spec.Plan, h.spec, nil, h.tree(h.spec.Base))
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return h.positions.Error(problems)
	}
	if o.dryRun {
		data.By = run.ByFile
		return h.g.printPlan(data)
	}
	return nil
}
