// Package conduct conducts one run. Its input are the options of a run, or the directory of one that goes on; its output is the
// run, whose log is open, and in the end one new branch. It reads and checks what a run is made of, settles trust, makes the
// mirror and answers what the half that works asks. It runs no agent: that half meets it on the bus, as package station, in this
// process or in others.
package conduct

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
	"divisi/internal/release"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/client"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/run"
	"divisi/orchestrator/station"
	"divisi/orchestrator/view"
	"divisi/subagents/checkout"
	"divisi/subagents/wire"
)

// Half is the half of a run that conducts it: plan, rules, landing, publishing. It shares nothing in memory with the half that
// works: they meet on the bus, in the object store and in one sealed wire.Setup.
type Half struct {
	Machine
	Hosting
	depot.Place

	// Spec describes the work of the run; Path is its directory.
	Spec     run.Spec
	Path     string
	Git      *git.Git
	Checkout *git.Checkout // nil for an order
	Mirror   *git.Repo
	Bus      *bus.Bus
	// full ends the run because its store is full, or stops it in order.
	full context.CancelCauseFunc
	// Ordered reports that the run was submitted: there is no checkout. exclude are the lists of what git ignores.
	Ordered bool
	exclude []byte
	// lender is the host that conducts the run, where this one stands by.
	lender *client.Host
	// Beside is the part of the checkout in trees beside the files that git stores.
	Beside *checkout.Content
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
	Notices    []string
	// gaps are hints about the recording that the working half makes.
	gaps atomic.Pointer[string]
	// limits are quotas as workers were told them.
	limits depot.Limits
	// Signs is the key that assignments are signed with, warrant the signature of who submitted the run or resumed it last.
	Signs   ed25519.PrivateKey
	warrant *wire.Warrant
	// commands are those that it is of; see wire.Mandate.
	commands [][]string
	// Cond conducts once the run is launched.
	Cond *conductor.Conductor
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
	// end is how the run has ended, failed why it could not continue.
	end    *run.State
	failed error
	// proposed counts the notes that the run and its agents have proposed, and no person has decided about: not those of earlier
	// runs.
	proposed int
	depot.Closers
}

// launch appends the run's first event, unless it resumes, and begins to conduct. The bus is open; st is the run so far.
func (h *Half) launch(ctx context.Context, st *run.State) (*client.Run, error) {
	held := &client.Held{Started: ctx.Err, Release: h.Release, Outcome: h.result}
	ctx, h.full = context.WithCancelCause(ctx)
	held.Stop = func() { h.full(context.Canceled) }
	h.Later(h.Mirror.Close)
	h.Later(held.Stop)
	if err := h.takeKey(); err != nil {
		return nil, err
	}
	from := h.from()
	from.remember(ctx)
	h.commands = from.mandate()
	setup, err := h.Seal(ctx, st)
	if err != nil {
		return nil, err
	}
	cond, err := conductor.New(ctx, h.conductorConfig(setup))
	if err != nil {
		return nil, err
	}
	h.Cond = cond
	if err := h.answers(ctx); err != nil {
		return nil, err
	}
	hands, err := h.hands(ctx, setup)
	if err != nil {
		return nil, err
	}
	if !h.resumes {
		if err := cond.Start(ctx, h.Spec); err != nil {
			return nil, err
		}
	}
	if h.Elsewhere {
		stop, err := h.announce(ctx)
		if err != nil {
			return nil, err
		}
		h.Later(stop)
	}
	h.Bus.WaitForRoom(h.notice)
	h.Later(func() {
		if !h.end.Status.Ended() {
			return
		}
		if st := h.Dir.Conclude(ctx, h.Bus, h.Spec.Run); st != nil {
			h.end = st
		}
	})
	live, over := context.WithCancel(context.Background())
	held.Live = live
	go func() {
		defer over()
		stop := hands.Begin(ctx, cond.State().Pos, func(err error) {
			h.full(fmt.Errorf("%w: %w", conductor.ErrWorker, err))
		})
		h.failed = from.guard(func() error { return cond.Run(ctx) })
		if cause := context.Cause(ctx); held.Started() == nil && cause != nil && !errors.Is(cause, context.Canceled) {
			h.failed = cause
		}
		stop()
		if h.Elsewhere && cond.State().Status.Ended() {
			h.over.Store(true)
			h.conducting(context.WithoutCancel(ctx))
		}
		if n, err := h.Mirror.PackLoose(ctx); err != nil || n > 0 {
			h.Log.Debug().Err(err).Int("objects", n).Msg("the mirror was packed")
		}
		h.end = cond.State()
		h.propose(ctx, h.end)
	}()
	return held.Run(h.Spec.Run, h.Dir, h.Bus, st.Pos, h.warrant), nil
}

// answers begins to answer the working halves, and to learn what they were told of quotas.
func (h *Half) answers(ctx context.Context) error {
	stop, err := h.Listen(ctx)
	if err != nil {
		return err
	}
	h.Later(stop)
	if !h.Elsewhere {
		return nil
	}
	if stop, err = depot.ListenLimits(ctx, h.Bus, &h.limits); err != nil {
		return err
	}
	h.Later(stop)
	return nil
}

// Seal stores what the working half is made of, and returns the name of the object.
func (h *Half) Seal(ctx context.Context, st *run.State) (string, error) {
	lends, content, err := h.lends()
	if err != nil {
		return "", err
	}
	refs, err := h.Mirror.Refs()
	if err != nil {
		return "", err
	}
	past, err := h.FarPast()
	if err != nil {
		return "", err
	}
	caches := filepath.Base(h.Caches)
	if h.Elsewhere {
		caches = h.from().cachesElsewhere(ctx)
	}
	s := wire.Setup{
		Run: h.Spec.Run, Key: depot.PublicOf(h.Signs), Warrant: h.warrant,
		Base: h.Spec.Base, Created: h.Spec.Created, Name: wire.RepositoryName(h.Spec.Repo), Caches: caches,
		Project: h.Spec.Project, Roles: h.Spec.Roles, Commands: h.commands,
		Plan: h.Spec.Plan, Environment: h.Spec.Environment, Beside: h.Beside.Digest(), Lends: lends, Content: content,
		Exclude: h.exclude, Refs: depot.WireRefs(refs), Past: past,
		Memory: h.notes != nil, Strict: h.Strict, Parallel: max(1, h.Spec.Parallel),
		Budget: h.limit(st), Spent: st.Usage.Total(),
		Quotas: st.Quotas,
	}
	name, data, err := s.Seal()
	if err != nil {
		return "", err
	}
	return name, h.Bus.Put(ctx, name, data)
}

// hands makes the half that works in this process; nil where others do.
func (h *Half) hands(ctx context.Context, setup string) (*station.Work, error) {
	if h.Elsewhere && h.Bus.Embedded() {
		return nil, usage.Errorf("a run with agents elsewhere needs a server that they reach: name it with NATS")
	}
	if h.Elsewhere {
		return nil, nil
	}
	w := &station.Work{
		Place: depot.Place{Dir: h.Dir, Log: h.Log}, Run: h.Spec.Run, Bus: h.Bus, Git: h.Git, Shared: true,
		Record: h.Record, Replay: h.Replay, Key: filepath.Join(h.Path, depot.KeyFile), Notice: h.notice,
	}
	h.Later(w.Release)
	return w, w.Prepare(ctx, setup)
}

func (h *Half) conductorConfig(setup string) conductor.Config {
	c := conductor.Config{
		Run: h.Spec.Run, Bus: h.Bus, Mirror: h.Mirror, Budget: h.budget, AllowUnverified: h.unverified,
		AllowUnread: h.unread, Notices: h.Notices, Clock: depot.Now, NewID: depot.NewID, Log: h.Log, Tree: h.Tree,
		Approve: h.approver(), Closing: h.recording, Setup: setup, Interactive: h.Approve != nil, Publish: h.from().publish,
		Person: depot.Account(), OnDoubt: h.OnDoubt,
		Decide: h.decider(), Keys: h.Spec.Keys, Elsewhere: h.Elsewhere, Version: release.Version(), Ordered: h.Ordered,
		Signs: h.Signs, Held: h.Held, Asked: h.Asked, Caller: h.Caller,
	}
	if !h.Elsewhere { // nothing of workers elsewhere is kept
		c.Baselines = h.Baselines(h.gateHost)
	}
	return c
}

// onDoubt is the run's reaction to a doubt that no master decides: it asks where a person watches, or reviews every patch.
func (h *Machine) onDoubt(review bool) string {
	if h.OnDoubt == "" && h.Approve == nil && !review {
		return run.OnDoubtReject
	}
	return cmp.Or(h.OnDoubt, run.OnDoubtAsk)
}

// recording holds hints about the recording so far.
func (h *Half) recording() []string {
	if g := h.gaps.Load(); g != nil {
		return []string{*g}
	}
	return nil
}

// limit is the budget of the run, in tokens; 0 for none.
func (h *Half) limit(st *run.State) int {
	switch {
	case h.budget != nil:
		return *h.budget
	case h.resumes:
		return st.Budget // which may have been raised before
	}
	return h.Spec.Budget
}

// propose keeps what a run that has ended learnt, for a person to decide about. Agents of models read notes: a run without a
// model proposes none. A run that cannot is no failure.
func (h *Half) propose(ctx context.Context, st *run.State) {
	h.proposed = 0
	if h.notes == nil || st.Usage == (spec.Usage{}) || st.Status != run.Done && st.Status != run.Parked {
		return
	}
	for _, n := range view.Notes(st) {
		if _, err := h.notes.Propose(ctx, n); err != nil {
			h.Log.Warn().Err(err).Str("note", n.Title).Msg("a note could not be proposed")
		}
	}
	waiting, _, err := h.notes.Proposals(ctx)
	if err != nil {
		h.Log.Warn().Err(err).Msg("the proposals could not be counted")
	}
	for _, p := range waiting {
		if of, _, _ := strings.Cut(p.Note.Source, "/"); of == st.Spec.Run {
			h.proposed++
		}
	}
}

// notice tells a person.
func (h *Half) notice(text string) { h.coded(text, "") }

// coded tells a person, with a code of what to do next.
func (h *Half) coded(text, code string) {
	if h.Notice != nil {
		h.Notice(text, code)
	}
}

// usualParallel is how many agents work at once where no one says: elsewhere as many as the workers have places for.
func (h *Machine) usualParallel() int {
	if h.Elsewhere {
		return depot.MaxParallel
	}
	return depot.DefaultParallel
}
