package conduct

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"divisi/configs"
	"divisi/internal/git"
	"divisi/internal/release"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/client"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/fault"
	"divisi/orchestrator/needs"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
)

// newHalf checks what does not depend on a repository, and returns a half that holds nothing yet.
func newHalf(ctx context.Context, o *Machine) (*Half, error) {
	dir, err := filepath.Abs(o.StateDir)
	if err != nil || o.StateDir == "" {
		return nil, usage.Errorf("StateDir %q cannot hold runs: name a directory", o.StateDir)
	}
	if o.OnDoubt != "" && !slices.Contains(run.OnDoubts, o.OnDoubt) {
		return nil, usage.Wrong("on-doubt %q: must be %s", o.OnDoubt, strings.Join(run.OnDoubts, ", "))
	}
	sandbox.TryIn(dir)
	err = sandbox.Probe().Strict()
	if untried := new(sandbox.UntriedError); err != nil && !o.Strict && !errors.As(err, &untried) {
		err = nil
	}
	if err == nil {
		err = o.checkTape()
	}
	if err != nil {
		return nil, err
	}
	log := *zerolog.Ctx(ctx)
	h := &Half{Machine: *o, Place: depot.Place{Dir: store.Dir{Path: dir, Log: log}, Log: log}}
	h.Git, err = git.New(ctx)
	return h, err
}

// check refuses options that no run can have.
func (o *Options) check() error {
	switch {
	case o.Goal == "" && o.Plan == nil && !o.Trial:
		return usage.With(usage.Errorf("missing goal or plan"), usage.Goal)
	case o.Goal != "" && o.Plan != nil:
		return usage.Errorf("use a goal or a plan, not both: the plan file names its own goal")
	case o.Prove != "" && o.Prove != spec.ProveBatch && o.Prove != spec.ProveEach:
		return usage.Wrong("prove %q is neither batch nor each", o.Prove)
	case o.Agent != "" && !slices.Contains(spec.CodingAgents(), o.Agent):
		return usage.Wrong("agent %q is not one of %s", o.Agent, strings.Join(spec.CodingAgents(), ", "))
	case o.Reprove < 0 || o.Reprove > 100:
		return usage.Wrong("reprove %g%% is not between 0%% and 100%%", o.Reprove)
	case o.Parallel < 0, o.Budget.Amount < 0:
		return usage.Wrong("parallel and budget cannot be negative")
	case o.Parallel > depot.MaxParallel:
		return usage.Wrong("parallel must be at most %d, not %d", depot.MaxParallel, o.Parallel)
	case o.Plan == nil && !o.Trial && !o.AutoApprove && o.Approve == nil && o.WritePlan == nil:
		return usage.With(usage.Errorf("the plan must be approved"), usage.Approval)
	}
	return nil
}

// prepare reads everything that a run is made of, without writing anything. What is read here is what is used.
func prepare(ctx context.Context, o *Options, as func(*Half) purpose) (*Half, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	h, err := newHalf(ctx, &o.Machine)
	if err != nil {
		return nil, err
	}
	to := as(h)
	if err := h.inspect(ctx, o); err != nil {
		return nil, err
	}
	base, err := to.base(ctx, o)
	if err != nil {
		return nil, err
	}
	roles := make([]configs.File, len(o.Roles))
	for i, f := range o.Roles {
		roles[i] = configs.File{Name: f.Name, Text: string(f.Data)}
	}
	set, found, err := needs.Files(h.Dir, h.Checkout, roles, o.named())
	if err == nil && o.Agent != "" {
		err = needs.UseAgent(&set, o.Agent)
	}
	if err != nil {
		return nil, err
	}
	found.Own = found.Own && !o.Proposed
	project := &found.Project
	requests, err := needs.Requests(ctx, h.Checkout, found, set.Repository)
	if err == nil {
		err = to.settle(h.trust(ctx, o.Trust, requests), project)
	}
	if err == nil {
		err = found.Unverified(!o.Trial && (o.AllowUnverified || o.AllowUnread))
	}
	if err != nil {
		return nil, err
	}
	h.skipped, h.broken, h.repoRoles = set.Skipped, set.Broken, set.Repository
	h.writePlan, h.agreeFetch, h.agreePins = o.WritePlan, o.Fetch, o.Pins
	h.Spec = run.Spec{
		Program: release.Version(), Goal: o.Goal, Repo: h.Checkout.Top, Base: base, Branch: h.Checkout.Branch,
		Author:     run.Author(h.Checkout.Author),
		Submodules: h.Checkout.Submodules, Project: *project, Roles: set.Roles,
		Parallel: cmp.Or(o.Parallel, project.Parallel, h.workers().places()), Budget: cmp.Or(o.Budget, project.Budget),
		AutoApprove: o.AutoApprove, AllowUnverified: o.AllowUnverified, AllowUnread: o.AllowUnread,
		FreshBaseline: o.FreshBaseline || o.Trial, Created: depot.Now(),
		OnDoubt: o.onDoubt(o.Review), Review: o.Review, Trial: o.Trial, Reprove: o.Reprove,
	}
	if o.Trial {
		h.Spec.Plan, h.Spec.Goal, o.Propose = &spec.Plan{}, "try the setup and the gates", nil
	}
	h.Spec.Habits = h.Dir.Habits(project, h.Checkout.Top)
	h.Spec.Project.Prove = cmp.Or(o.Prove, project.Prove, spec.ProveBatch)
	h.Spec.Project.GatePermits = cmp.Or(project.GatePermits, max(1, runtime.NumCPU()/4))
	h.name(h.Spec.Created)
	h.Spec.Project.Parallel = h.Spec.Parallel
	if h.Spec.Parallel > depot.MaxParallel {
		return nil, usage.Errorf(".divisi/divisi.yaml: parallel must be at most %d, not %d", depot.MaxParallel, h.Spec.Parallel)
	}
	if err := h.findCaches(o.Sample); err != nil {
		return nil, err
	}
	if h.Notices = append(h.Notices, needs.Replaced(set)...); found.Place != "" && !o.Proposed {
		h.Notices = append(h.Notices, found.Place)
	}
	if err := h.readPlan(o.Plan, o.Gates); err != nil {
		return nil, err
	}
	return h, to.check(ctx)
}

// inspect reads the user's checkout.
func (h *Half) inspect(ctx context.Context, o *Options) error {
	c, err := h.Dir.Inspect(ctx, h.Git, o.Repo)
	if err != nil {
		return err
	}
	h.Checkout, h.exclude = c, c.Exclude()
	return h.Git.CheckSparse(ctx, c, configDir)
}

// base is the base commit of the checkout that was inspected.
func (h *Half) base(ctx context.Context, o *Options) (string, error) {
	base := h.Checkout.Head
	if o.Base != "" {
		var err error
		if base, err = h.Git.Resolve(ctx, h.Checkout, o.Base); err != nil {
			return "", usage.Wrong("base %s: %v", o.Base, err)
		}
	}
	h.Notices = append(h.Notices, h.behind(ctx, base)...)
	return base, nil
}

// startable refuses a checkout that a run cannot begin from as it stands: what it would silently leave behind. What the run reads
// from the checkout itself is not left behind, wherever it lies.
func (h *Half) startable(ctx context.Context, o *Options) error {
	c := h.Checkout
	if err := errors.Join(c.Writable(), h.Git.CheckBranch(ctx, c, run.IntegrationRef("x"))); err != nil || o.Base != "" {
		return err
	}
	own := []string{o.Record, o.Replay}
	for _, f := range []*File{o.Plan, o.Project} {
		if f != nil {
			own = append(own, f.Name)
		}
	}
	for _, f := range o.Roles {
		own = append(own, f.Name)
	}
	dirty := needs.Left(c, own)
	switch {
	case c.Branch == "":
		return usage.With(
			usage.Errorf("%s has no branch checked out (detached head at %.12s)", c.Top, c.Head), usage.Head)
	case len(dirty) > 0:
		return usage.With(
			usage.Errorf("%s has changes that are not committed: %s", c.Top, text.Some(dirty, 5)), usage.Dirty)
	}
	return nil
}

// trust blocks setup, commands and model calls until the user trusts the repository.
func (h *Half) trust(
	ctx context.Context, decide func(context.Context, []string) (bool, error), requests []string,
) (err error) {
	if len(requests) == 0 {
		return nil
	}
	agreed := false
	if decide != nil {
		agreed, err = decide(ctx, requests)
	}
	switch {
	case err != nil:
		return err
	case agreed:
		return nil
	}
	return fmt.Errorf("%w: %s; nothing of it was run. Its files request:\n  %s",
		fault.ErrNotTrusted, h.Checkout.Top, strings.Join(requests, "\n  "))
}

// readPlan takes the plan file, which can name gates beside those of the project.
func (h *Half) readPlan(file *File, beside []spec.Gate) error {
	if file == nil {
		return h.readBroken()
	}
	p, positions, _ := configs.ParsePlan(file.Name, string(file.Data)) // positions have its faults
	h.Spec.Plan, h.positions = &p, positions
	if err := h.readBroken(); err != nil {
		return err
	}
	named := h.Spec.Project
	named.Gates = slices.Concat(named.Gates, beside)
	problems := p.Validate(spec.Env{Roles: h.Spec.Roles, Gates: depot.GateNames(named)})
	if err := positions.Error(append(problems, needs.Skipped(p, h.skipped)...)); err != nil {
		return err
	}
	h.Spec.Goal = cmp.Or(p.Goal, filepath.Base(file.Name))
	return nil
}

// readBroken refuses a run that needs a role whose file is wrong.
func (h *Half) readBroken() error {
	notices, err := needs.Broken(&h.Spec, h.broken)
	h.Notices = append(h.Notices, notices...)
	return err
}

// begin makes the run's directory and starts the run. A run that could not begin leaves nothing behind.
func (h *Half) begin(ctx context.Context, o *Options) (r *client.Run, err error) {
	defer func() {
		if err != nil {
			h.Release()
		}
	}()
	if err := os.MkdirAll(h.Dir.Runs(), 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of runs: %w", err)
	}
	if err := h.makeDir(); err != nil {
		return nil, fmt.Errorf("make the run's directory: %w", err)
	}
	release, err := h.Keep(h.notice)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(h.Path))
	}
	h.Later(release)
	h.Later(func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(h.Path))
		}
	})
	if _, err = h.tryPlan(ctx, o); err != nil {
		return nil, err
	}
	if err = h.gated(o); err != nil {
		return nil, err
	}
	if err = errors.Join(h.checkPrograms(ctx, o), h.workers().programs(ctx, o.AllowUnverified)); err != nil {
		return nil, err
	}
	m := store.Meta{Repo: h.Spec.Repo, NATS: o.NATS, Login: o.Login, Demo: o.Sample, Strict: o.Strict}
	if m.Twin, err = h.unconfined(ctx, o.Twin); err != nil {
		return nil, err
	}
	m.Moves, m.Onto = o.moves(h.Spec.Base)
	if o.Plan != nil {
		if m.Plan, err = filepath.Abs(o.Plan.Name); err != nil {
			return nil, fmt.Errorf("find the plan file: %w", err)
		}
	}
	if o.Project != nil && !o.Proposed {
		if m.Project, err = filepath.Abs(o.Project.Name); err != nil {
			return nil, fmt.Errorf("find the project file: %w", err)
		}
	}
	if o.Record != "" {
		if m.Record, err = filepath.Abs(o.Record); err != nil {
			return nil, usage.With(fmt.Errorf("record: %w", err), usage.Option)
		}
	}
	if err = m.Write(h.Path); err != nil {
		return nil, err
	}
	h.Notices = slices.Concat(confinement(), h.shallow(), h.workers().filtered(), needs.Notices(&h.Spec), h.Notices)
	if err = h.takeCheckout(ctx); err != nil {
		return nil, err
	}
	if h.Bus, err = h.Dir.Hold(ctx, h.Spec.Run, m.Server()); err != nil {
		return nil, err
	}
	h.Later(func() { h.Dir.Close(h.Bus) })
	if err = h.keepCarried(ctx, o); err != nil {
		return nil, err
	}
	return h.launch(ctx, run.NewState())
}

// name gives the run the id of a moment.
func (h *Half) name(at time.Time) {
	h.Spec.Run = store.NewID(at)
	h.Path = h.Dir.Run(h.Spec.Run)
	h.Spec.Outputs = filepath.Join(h.Path, depot.OutputsDir)
}

const (
	// idTries bounds the ids that are tried; idStep leads from one to the next.
	idTries = 100
	idStep  = time.Second>>16 + 1
)

// makeDir makes the run's directory, with the next id where another run has begun at the same moment.
func (h *Half) makeDir() error {
	err := os.Mkdir(h.Path, 0o700)
	for n := 1; n < idTries && errors.Is(err, fs.ErrExist); n++ {
		h.name(h.Spec.Created.Add(time.Duration(n) * idStep))
		err = os.Mkdir(h.Path, 0o700)
	}
	return err
}

// checkSetup refuses a key that names what is no file of the base commit.
func (h *Half) checkSetup(ctx context.Context) error {
	key := h.Spec.Project.Setup.Key
	if len(key) == 0 {
		return nil
	}
	files, err := h.Tree(h.Spec.Base, "").Files(ctx)
	if err != nil {
		return err
	}
	for _, name := range key {
		if _, found := slices.BinarySearch(files, name); !found {
			return usage.Errorf(".divisi/divisi.yaml: setup.key names %q, and the base commit has no regular file of that name",
				name)
		}
	}
	return nil
}

// confinement reports what a person should know of this machine before commands run.
func confinement() []string {
	if level := sandbox.Probe(); level.Strict() != nil {
		return []string{level.String()}
	}
	return nil
}

// Start begins a run. It returns once the run's first event is in the log; an error before leaves nothing behind. The run goes on
// until it ends or ctx does, which stops it in order. Without Wait or Close it keeps its log open until the process ends.
func Start(ctx context.Context, o Options) (*client.Run, error) {
	if o.SendEnvironment {
		return nil, usage.Errorf("SendEnvironment is for a run that is submitted: this one is conducted here")
	}
	if o.Reprove > 0 && !o.Elsewhere {
		return nil, usage.Wrong("reprove needs workers elsewhere: in one process there is no other worker")
	}
	var h *Half
	var err error
	if o.Next != nil {
		h, err = prepareNext(ctx, &o)
	} else {
		h, err = prepare(ctx, &o, toBegin)
	}
	if err != nil {
		return nil, err
	}
	return h.begin(ctx, &o)
}
