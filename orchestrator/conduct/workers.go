package conduct

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/release"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/needs"
	"divisi/orchestrator/station"
	"divisi/subagents/checkout"
	"divisi/subagents/wire"
)

// workers execute the tasks of a run: here in this process, elsewhere in others, on a server.
type workers interface {
	machine
	trees
	terms
	// hire makes them ready for a sealed setup; begin has them work until end, from a position of the log on.
	hire(ctx context.Context, setup string) (begin func(ctx context.Context, from uint64) (end func(), err error), err error)
}

// machine is the one that they work on.
type machine interface {
	// places is how many agents work at once where no one says.
	places() int
	// check returns why they cannot begin, gates why they cannot run a gate, programs why gates would start other programs than
	// the user's shell, where the run does not allow unverified changes. Other machines are not checked.
	check(ctx context.Context) error
	gates() error
	programs(ctx context.Context, allow bool) error
}

// trees are those that they work in.
type trees interface {
	// takePast takes the history before the base into a directory; none where they begin at the base.
	takePast(ctx context.Context, dir string) (git.Past, error)
	// takeBeside takes what they have beside the files that git stores.
	takeBeside(ctx context.Context, from checkout.User) error
	// filtered reports that files of the checkout may have changes that they do not have.
	filtered() []string
}

// terms are those on which a run takes them.
type terms interface {
	// takeKeys takes the keys that they sign with.
	takeKeys() error
	// tell completes the setup, configure what the conductor is told of them.
	tell(ctx context.Context, s *wire.Setup) error
	configure(c *conductor.Config)
	// may refuses a call of one that may not make it.
	may(ctx context.Context, may call.Who, c *call.In) error
}

// workers chooses by what the run was begun with.
func (h *Half) workers() workers {
	if h.Elsewhere {
		return elsewhere{h}
	}
	return here{h}
}

type here struct{ *Half }

func (here) places() int { return depot.DefaultParallel }

func (h here) check(ctx context.Context) error { return needs.Check(ctx, &h.Spec, h.Replay, h.login()) }

func (h here) programs(ctx context.Context, allow bool) error {
	if h.Checkout == nil {
		return nil
	}
	notes, err := h.shell.Check(ctx, &h.Spec, h.Checkout.Top, allow, h.agreePins)
	h.Notices = append(h.Notices, notes...)
	return err
}

func (h here) gates() error { return needs.Gates(&h.Spec) }

func (h here) takePast(ctx context.Context, dir string) (git.Past, error) {
	p, err := h.Git.TakePast(ctx, h.Checkout, h.Spec.Base, dir, true)
	whole := h.Spec.Project.History == spec.HistoryFull
	switch {
	case errors.Is(err, git.ErrDamaged) && whole:
		return p, usage.Errorf("history: %s of .divisi/divisi.yaml needs all objects of the history, and the clone lacks some, "+
			"as a partial clone does\nFetch them: git fetch --refetch --no-filter\n(%v)", spec.HistoryFull, err)
	case errors.Is(err, git.ErrDamaged) && p.Commits != "":
		h.Notices = append(h.Notices, "trees have the commits of the history without their files, because the clone lacks some "+
			"of them, as a partial clone does; git fetch --refetch --no-filter fetches them")
	case err != nil:
		return p, err
	}
	if whole {
		p.Commits = p.Whole
	}
	return p, nil
}

func (h here) takeBeside(ctx context.Context, from checkout.User) (err error) {
	if h.Beside, err = h.Besides(h.Git).Take(ctx, from, h.Mirror, h.Spec.Base); err != nil {
		return err
	}
	if !h.Beside.Empty() && !sandbox.ShowsLayers() {
		h.Notices = append(h.Notices, depot.NoLayers)
		return nil
	}
	h.noteMissing()
	return nil
}

func (h here) filtered() []string {
	if len(h.Checkout.Filtered) == 0 || h.Spec.Base != h.Checkout.Head {
		return nil
	}
	return []string{fmt.Sprintf("whether your changes to %s are committed is not known: filters of git, which do not run, store "+
		"them; git status tells", text.Some(h.Checkout.Filtered, 5))}
}

// takeKeys makes the key of the worker with the run; one that is lost or damaged is made again, and what the old one signed since
// the last fold proves nothing.
func (h here) takeKeys() error {
	key, err := depot.OwnKey(filepath.Join(h.Path, depot.KeyFile))
	if err != nil {
		return fmt.Errorf("take the key of the run's worker: %w", err)
	}
	h.Spec.Keys = map[string][]byte{wire.LocalName: depot.PublicOf(key)}
	return nil
}

func (h here) tell(_ context.Context, s *wire.Setup) error {
	s.Caches = filepath.Base(h.Caches)
	return nil
}

func (h here) configure(c *conductor.Config) {
	c.Baselines = h.Baselines(h.gateHost)
	c.Raised = func(b spec.Budget) {
		if w := h.raised.Load(); w != nil {
			w.Raise(b)
		}
	}
}

func (h here) may(_ context.Context, may call.Who, c *call.In) error {
	switch {
	case c.From == wire.LocalName:
		return nil
	case may == call.OwnHands:
		return notOf(c)
	}
	return call.Refusedf("run %s has no other worker than this process, and %s calls", h.Spec.Run, c.From)
}

func (h here) hire(ctx context.Context, setup string) (func(context.Context, uint64) (func(), error), error) {
	w := &station.Work{
		Place: depot.Place{Dir: h.Dir, Log: h.Log}, Run: h.Spec.Run, Bus: h.Bus, Git: h.Git, Shared: true,
		Record: h.Record, Replay: h.Replay, Key: filepath.Join(h.Path, depot.KeyFile), Notice: h.notice,
		Environ: h.environ(ctx),
	}
	h.Later(w.Release)
	h.raised.Store(w)
	return func(ctx context.Context, from uint64) (func(), error) {
		return w.Begin(ctx, from, func(err error) { h.full(fmt.Errorf("%w: %w", conductor.ErrWorker, err)) }), nil
	}, w.Prepare(ctx, setup)
}

// gateHost stands for what the gates of the run find on this machine beside the repository: their programs, the variables that
// they see, how they are confined, and what trees have of the checkout beside the files that git stores.
func (h here) gateHost() (string, error) {
	commands := make([][]string, 0, len(h.Spec.Project.Gates))
	for _, g := range h.Spec.Project.Gates {
		commands = append(commands, g.Command)
	}
	search := h.shell.Search()
	programs, err := h.Environments.Programs(search, commands...)
	if err != nil {
		return "", err
	}
	env := []string{search}
	for _, name := range h.Spec.Project.Env {
		env = append(env, name+"="+os.Getenv(name))
	}
	tester := h.Spec.Roles[spec.RoleTester] // the gates have its network
	return spec.JSONText([]any{
		programs, env, runtime.GOOS, runtime.GOARCH, sandbox.Probe().String(), h.Beside.Digest(), tester.Network, tester.Loopback,
	}), nil
}

type elsewhere struct{ *Half }

// places are as many as the workers have.
func (elsewhere) places() int { return depot.MaxParallel }

func (elsewhere) check(context.Context) error { return nil }

func (elsewhere) programs(context.Context, bool) error { return nil }

func (elsewhere) gates() error { return nil }

func (h elsewhere) takePast(ctx context.Context, dir string) (none git.Past, err error) {
	p, err := h.Git.TakePast(ctx, h.Checkout, h.Spec.Base, dir, false)
	if err != nil {
		return none, err
	}
	if err := p.Check(h.Spec.Base); err != nil {
		h.Notices = append(h.Notices, fmt.Sprintf("on other machines trees begin at the base: %v", err))
		return none, nil
	}
	return p, h.noteFar(ctx)
}

func (h elsewhere) takeBeside(ctx context.Context, from checkout.User) error {
	err := h.Lend(ctx, from)
	if err == nil {
		h.noteMissing()
	}
	return err
}

func (elsewhere) filtered() []string { return nil }

// takeKeys takes none: the workers bring theirs.
func (h elsewhere) takeKeys() error {
	h.Spec.Keys = nil
	return nil
}

func (h elsewhere) tell(ctx context.Context, s *wire.Setup) (err error) {
	s.Caches = h.from().caches(ctx)
	s.Past, err = h.FarPast()
	return err
}

func (h elsewhere) configure(c *conductor.Config) { // and nothing is kept of what they find
	if c.Elsewhere = true; !h.Spec.Project.BudgetDay.IsZero() {
		c.Notices = append(slices.Clip(c.Notices), "each machine with workers counts "+spec.DayBudget+" for itself: together "+
			"they can use as many times as much as there are of them")
	}
}

func (h elsewhere) may(ctx context.Context, may call.Who, c *call.In) error {
	switch may {
	case call.OwnHands:
		return notOf(c)
	case call.Counted:
		return h.Cond.Counts(ctx, c.From)
	}
	return nil
}

func (h elsewhere) hire(ctx context.Context, _ string) (func(context.Context, uint64) (func(), error), error) {
	if h.Bus.Embedded() {
		return nil, usage.Errorf("a run with agents elsewhere needs a server that they reach: name it with NATS")
	}
	stop, err := depot.ListenLimits(ctx, h.Bus, &h.limits)
	if err == nil {
		h.Later(stop)
	}
	return h.announce, err
}

// announce says every few seconds, and when it is asked, that the run takes workers, and at its end that it is over.
func (h elsewhere) announce(ctx context.Context, _ uint64) (end func(), err error) {
	stop, err := depot.Present(ctx, h.Bus, func() { h.conducting(ctx) })
	if err != nil {
		return nil, err
	}
	h.Later(stop)
	return func() {
		if h.Cond.State().Status.Ended() {
			h.over.Store(true)
			h.conducting(context.WithoutCancel(ctx))
		}
	}, nil
}

// conducting says once that the run takes workers, or that it is over.
func (h elsewhere) conducting(ctx context.Context) {
	what := wire.NewConducting(h.Spec.Run, release.Version())
	what.Over = h.over.Load()
	h.Say(ctx, h.Bus, bus.RunPresence(h.Spec.Run), what)
}

func notOf(c *call.In) error { return call.Refusedf("%s is no call of worker %s", c.Name, c.From) }
