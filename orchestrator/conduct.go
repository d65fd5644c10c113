package orchestrator

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/singleflight"

	"divisi/bus"
	"divisi/configs"
	"divisi/contextscope/memory"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/subagents/checkout"
	"divisi/subagents/wire"

	"divisi/internal/release"
)

// conduct is the half of a run that conducts it: plan, rules, landing, publishing. It shares nothing in memory with the half that
// works: they meet on the bus, in the object store and in one sealed wire.Setup.
type conduct struct {
	Machine
	hosting
	place

	// spec is what the run is to do; path is its directory.
	spec     run.Spec
	path     string
	git      *git.Git
	checkout *git.Checkout // nil for an order
	mirror   *git.Repo
	bus      *bus.Bus
	// full ends the run because its store is full, or stops it in order.
	full context.CancelCauseFunc
	// ordered reports that the run was submitted: there is no checkout. exclude are the lists of what git ignores.
	ordered bool
	exclude []byte
	// lender is the host that conducts the run, where this one stands by.
	lender *client
	// beside is what trees have of the checkout beside the files that git stores.
	beside *checkout.Content
	// sends are the environments that are being put into the cache, by their ids.
	sends singleflight.Group
	// positions are the places in the plan file, skipped the agents of other programs that are no roles here.
	positions *configs.Positions
	skipped   []configs.Skipped
	broken    []configs.Broken
	// repoRoles are the roles of the repository's own files, whose requests need trust.
	repoRoles map[string]spec.Role
	// writePlan is Options.WritePlan.
	writePlan func(ctx context.Context, plan File) (string, error)
	// agreeFetch is Options.Fetch.
	agreeFetch func(ctx context.Context, clone PartialClone) (bool, error)
	notes      *memory.Memory
	notices    []string
	// gaps are what a person should know of the recording that the working half makes.
	gaps atomic.Pointer[string]
	// limits are what workers were told of quotas.
	limits limits
	// signs is the key that assignments are signed with, warrant the signature of who submitted the run or resumed it last.
	signs   ed25519.PrivateKey
	warrant *wire.Warrant
	// commands are those that it is of; see wire.Mandate.
	commands [][]string
	// cond conducts once the run is launched.
	cond *conductor.Conductor
	// pace is how often workers call.
	pace call.Pace
	// planning is held while a plan is checked, which folds the log: there is one master.
	planning sync.Mutex
	// resumes says that the run goes on: budget, when not nil, is its new budget, unverified lets it land what is not proven,
	// unread what no gate reads.
	resumes, unverified, unread bool
	budget                      *int
	// over is set once the run has ended, which workers elsewhere are told.
	over atomic.Bool
	// end is how the run has ended, failed why it could not go on.
	end    *run.State
	failed error
	// proposed counts the notes that the run and its agents have proposed, and no person has decided about: not those of earlier
	// runs.
	proposed int
	closers
}

// launch appends the run's first event, unless it resumes, and begins to conduct. The bus is open; st is the run so far.
func (h *conduct) launch(ctx context.Context, st *run.State) (*Run, error) {
	held := &held{started: ctx.Err, warrant: h.warrant, release: h.release, result: h.result}
	ctx, h.full = context.WithCancelCause(ctx)
	held.stop = func() { h.full(context.Canceled) }
	h.later(h.mirror.Close)
	h.later(held.stop)
	if err := h.takeKey(); err != nil {
		return nil, err
	}
	h.remember(ctx)
	if !h.ordered {
		h.commands = wire.Commands(h.spec.Plan, h.spec.Roles)
	}
	setup, err := h.seal(ctx, st)
	if err != nil {
		return nil, err
	}
	cond, err := conductor.New(ctx, h.conductorConfig(setup))
	if err != nil {
		return nil, err
	}
	h.cond = cond
	if err := h.answers(ctx); err != nil {
		return nil, err
	}
	hands, err := h.hands(ctx, setup)
	if err != nil {
		return nil, err
	}
	if !h.resumes {
		if err := cond.Start(ctx, h.spec); err != nil {
			return nil, err
		}
	}
	if h.Elsewhere {
		stop, err := h.announce(ctx)
		if err != nil {
			return nil, err
		}
		h.later(stop)
	}
	h.bus.WaitForRoom(h.notice)
	h.later(func() {
		if !h.end.Status.Ended() {
			return
		}
		if st := h.dir.Conclude(ctx, h.bus, h.spec.Run); st != nil {
			h.end = st
		}
	})
	live, over := context.WithCancel(context.Background())
	held.live = live
	go func() {
		defer over()
		stop := hands.begin(ctx, cond.State().Pos, func(err error) {
			h.full(fmt.Errorf("%w: %w", conductor.ErrWorker, err))
		})
		h.failed = h.guard(func() error { return cond.Run(ctx) })
		if cause := context.Cause(ctx); held.started() == nil && cause != nil && !errors.Is(cause, context.Canceled) {
			h.failed = cause
		}
		stop()
		if h.Elsewhere && cond.State().Status.Ended() {
			h.over.Store(true)
			h.conducting(context.WithoutCancel(ctx))
		}
		if n, err := h.mirror.PackLoose(ctx); err != nil || n > 0 {
			h.log.Debug().Err(err).Int("objects", n).Msg("the mirror was packed")
		}
		h.end = cond.State()
		h.propose(ctx, h.end)
	}()
	r := newRun(h.spec.Run, h.dir, h.bus)
	r.held, r.resumed = held, st.Pos
	return r, nil
}

// answers begins to answer the working halves, and to learn what they were told of quotas.
func (h *conduct) answers(ctx context.Context) error {
	stop, err := h.listen(ctx)
	if err != nil {
		return err
	}
	h.later(stop)
	if !h.Elsewhere {
		return nil
	}
	if stop, err = listenLimits(ctx, h.bus, &h.limits); err != nil {
		return err
	}
	h.later(stop)
	return nil
}

// seal stores what the working half is made of, and returns the name of the object.
func (h *conduct) seal(ctx context.Context, st *run.State) (string, error) {
	lends, content, err := h.lends()
	if err != nil {
		return "", err
	}
	refs, err := h.mirror.Refs()
	if err != nil {
		return "", err
	}
	past, err := h.farPast()
	if err != nil {
		return "", err
	}
	caches := filepath.Base(h.caches)
	if h.Elsewhere && !h.ordered { // where the checkout lies on this machine says nothing to others
		caches = cachesOf(nil, h.roots(ctx), h.spec.Base, wire.RepositoryName(h.spec.Repo))
	}
	s := wire.Setup{
		Run: h.spec.Run, Key: publicOf(h.signs), Warrant: h.warrant,
		Base: h.spec.Base, Created: h.spec.Created, Name: wire.RepositoryName(h.spec.Repo), Caches: caches,
		Project: h.spec.Project, Roles: h.spec.Roles, Commands: h.commands,
		Plan: h.spec.Plan, Environment: h.spec.Environment, Beside: h.beside.Digest(), Lends: lends, Content: content,
		Exclude: h.exclude, Refs: wireRefs(refs), Past: past,
		Memory: h.notes != nil, Strict: h.Strict, Parallel: max(1, h.spec.Parallel),
		Budget: h.limit(st), Spent: st.Usage.Total(),
		Quotas: st.Quotas,
	}
	name, data, err := s.Seal()
	if err != nil {
		return "", err
	}
	return name, h.bus.Put(ctx, name, data)
}

// hands makes the half that works in this process; nil where others do.
func (h *conduct) hands(ctx context.Context, setup string) (*work, error) {
	if h.Elsewhere && h.bus.Embedded() {
		return nil, usage.Errorf("a run whose agents work elsewhere needs a server that they reach: name it with NATS")
	}
	if h.Elsewhere {
		return nil, nil
	}
	w := &work{
		place: place{dir: h.dir, log: h.log}, run: h.spec.Run, bus: h.bus, git: h.git, shared: true,
		record: h.Record, replay: h.Replay, key: filepath.Join(h.path, keyFile), notice: h.notice,
	}
	h.later(w.release)
	return w, w.prepare(ctx, setup)
}

func (h *conduct) conductorConfig(setup string) conductor.Config {
	c := conductor.Config{
		Run: h.spec.Run, Bus: h.bus, Mirror: h.mirror, Resume: h.resumes, Budget: h.budget, AllowUnverified: h.unverified,
		AllowUnread: h.unread,
		Notices:     h.notices, Clock: now, NewID: newID, Log: h.log, Tree: h.tree, Approve: h.approver(), Closing: h.recording,
		Setup: setup, Interactive: h.Approve != nil, Publish: h.publish, Person: account(), OnDoubt: h.OnDoubt,
		Decide: h.decider(), Keys: h.spec.Keys, Elsewhere: h.Elsewhere, Version: release.Version(), Ordered: h.ordered,
		Signs: h.signs, Held: h.held, Asked: h.asked, Members: h.members,
	}
	if !h.Elsewhere { // nothing of workers elsewhere is kept
		c.Baselines = h.baselines(h.gateHost)
	}
	return c
}

// onDoubt is what the run does about a doubt that no master decides: it asks where a person watches, or reviews every patch.
func (h *Machine) onDoubt(review bool) string {
	if h.OnDoubt == "" && h.Approve == nil && !review {
		return run.OnDoubtReject
	}
	return cmp.Or(h.OnDoubt, run.OnDoubtAsk)
}

// publish puts a commit of the run into the user's repository, as its one new branch. A branch that is no longer where an
// earlier end of the run left it is a person's now: the run's is then the first free one of divisi/<run>-2, -3 and so on.
func (h *conduct) publish(ctx context.Context, commit, base, had string) (string, error) {
	if h.ordered {
		return h.keepBranch(ctx, commit)
	}
	for n := 1; ; n++ {
		ref := run.IntegrationRef(h.spec.Run)
		if n > 1 {
			ref = fmt.Sprintf("%s-%d", ref, n)
		}
		if err := h.git.Publish(ctx, h.checkout, h.mirror, ref, commit, base, had); !errors.Is(err, git.ErrStale) {
			return ref, err
		}
		h.notice(fmt.Sprintf("note: the branch %s was moved or is checked out, and stays as it is",
			strings.TrimPrefix(ref, "refs/heads/")))
	}
}

// recording is what a person should know of the recording by now.
func (h *conduct) recording() []string {
	if g := h.gaps.Load(); g != nil {
		return []string{*g}
	}
	return nil
}

// limit is the budget of the run, in tokens; 0 for none.
func (h *conduct) limit(st *run.State) int {
	switch {
	case h.budget != nil:
		return *h.budget
	case h.resumes:
		return st.Budget // which may have been raised before
	}
	return h.spec.Budget
}

// remember opens the memory of the repository; a run goes on without it. Notes that cannot be read are named, and the others
// serve.
func (h *conduct) remember(ctx context.Context) {
	if h.ordered {
		return
	}
	m, problems, err := memory.Open(ctx, memory.Options{
		Repo: h.spec.Repo, Home: memory.Home(h.dir.Path, h.spec.Repo), Clock: now,
	})
	if err != nil {
		h.log.Warn().Err(err).Msg("the run has no memory")
		return
	}
	for i := range problems {
		h.log.Warn().Msg(problems[i].String())
	}
	h.notes = m
}

// propose keeps what a run that has ended learnt, for a person to decide about. Agents of models read notes: a run without a
// model proposes none. A run that cannot is no failure.
func (h *conduct) propose(ctx context.Context, st *run.State) {
	h.proposed = 0
	if h.notes == nil || st.Usage == (spec.Usage{}) || st.Status != run.Done && st.Status != run.Parked {
		return
	}
	for _, n := range view.Notes(st) {
		if _, err := h.notes.Propose(ctx, n); err != nil {
			h.log.Warn().Err(err).Str("note", n.Title).Msg("a note could not be proposed")
		}
	}
	waiting, _, err := h.notes.Proposals(ctx)
	if err != nil {
		h.log.Warn().Err(err).Msg("the proposals could not be counted")
	}
	for _, p := range waiting {
		if of, _, _ := strings.Cut(p.Note.Source, "/"); of == st.Spec.Run {
			h.proposed++
		}
	}
}

// notice tells a person.
func (h *conduct) notice(text string) { h.coded(text, "") }

// coded tells a person, with a code of what to do next.
func (h *conduct) coded(text, code string) {
	if h.Notice != nil {
		h.Notice(text, code)
	}
}

// usualParallel is how many agents work at once where no one says: elsewhere as many as the workers have places for.
func (h *Machine) usualParallel() int {
	if h.Elsewhere {
		return maxParallel
	}
	return defaultParallel
}
