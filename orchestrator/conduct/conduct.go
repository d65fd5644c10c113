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
	"slices"
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
	"divisi/orchestrator/call"
	"divisi/orchestrator/client"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/needs"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/run"
	"divisi/orchestrator/shard"
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
	// previewed reports that the plan is shown, and that the run does not begin.
	previewed bool
	Bus       *bus.Bus
	// full ends the run because its store is full, or stops it in order.
	full context.CancelCauseFunc
	// Ordered reports that the run was submitted: there is no checkout. exclude are the lists of what git ignores.
	Ordered bool
	exclude []byte
	// lender is the host that conducts the run, where this one stands by.
	lender *client.Host
	shell  needs.Shell
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
	// agreePins is Options.Pins.
	agreePins func(ctx context.Context, conflicts []string) (bool, error)
	notes     *memory.Memory
	Notices   []string
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
	// budget, when not nil, is the new budget of a run that goes on; unverified lets it land what is not proven, unread what no
	// gate reads.
	unverified, unread bool
	budget             *spec.Budget
	raised             atomic.Pointer[station.Work]
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

// launch appends the run's first event, where the log has none, and begins to conduct. The bus is open; st is the run so far.
func (h *Half) launch(ctx context.Context, st *run.State) (_ *client.Run, err error) {
	held := &client.Held{Started: ctx.Err, Release: h.Release, Outcome: h.result}
	ctx, h.full = context.WithCancelCause(ctx)
	held.Stop = func() { h.full(context.Canceled) }
	h.Later(h.Mirror.Close)
	h.Later(held.Stop)
	if h.Signs, err = depot.OwnKey(filepath.Join(h.Path, depot.ConductorKey)); err != nil {
		return nil, fmt.Errorf("take the key of the run: %w", err)
	}
	workers := h.workers()
	if err := workers.takeKeys(); err != nil {
		return nil, err
	}
	from := h.from()
	from.remember(ctx)
	h.commands = from.mandate()
	for _, w := range st.Told() {
		h.limits.Take(w)
	}
	setup, err := h.Seal(ctx, st)
	if err != nil {
		return nil, err
	}
	cond, err := conductor.New(ctx, h.conductorConfig(setup))
	if err != nil {
		return nil, err
	}
	h.Cond = cond
	deaf, err := h.Listen(ctx)
	if err != nil {
		return nil, err
	}
	h.Later(deaf)
	begin, err := workers.hire(ctx, setup)
	if err != nil {
		return nil, err
	}
	if st.Spec.Run == "" {
		if err := cond.Start(ctx, h.Spec); err != nil {
			return nil, err
		}
	}
	h.Bus.WaitForRoom(h.notice)
	end, err := begin(ctx, cond.State().Pos)
	if err != nil {
		return nil, err
	}
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
		h.failed = from.guard(func() error { return cond.Run(ctx) })
		if cause := context.Cause(ctx); held.Started() == nil && cause != nil && !errors.Is(cause, context.Canceled) {
			h.failed = cause
		}
		end()
		if n, err := h.Mirror.PackLoose(ctx); err != nil || n > 0 {
			h.Log.Debug().Err(err).Int("objects", n).Msg("the mirror was packed")
		}
		h.end = cond.State()
		h.propose(ctx, h.end)
	}()
	return held.Run(h.Spec.Run, h.Dir, h.Bus, st.Pos, h.warrant), nil
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
	s := wire.Setup{
		Run: h.Spec.Run, Key: depot.PublicOf(h.Signs), Warrant: h.warrant,
		Base: h.Spec.Base, Created: h.Spec.Created, Name: wire.RepositoryName(h.Spec.Repo),
		Project: h.Spec.Project, Roles: h.Spec.Roles, Commands: h.commands,
		Plan: h.Spec.Plan, Environment: h.Spec.Environment, Beside: h.Beside.Digest(), Lends: lends, Content: content,
		Exclude: h.exclude, Refs: depot.WireRefs(refs),
		Memory: h.notes != nil, Strict: h.Strict, Parallel: max(1, h.Spec.Parallel),
		Budget: h.limit(st), Spent: h.limit(st).Of(st.Held()),
		Quotas: st.Quotas,
	}
	if err := h.workers().tell(ctx, &s); err != nil {
		return "", err
	}
	name, data, err := s.Seal()
	if err != nil {
		return "", err
	}
	return name, h.Bus.Put(ctx, name, data)
}

func (h *Half) conductorConfig(setup string) conductor.Config {
	c := conductor.Config{
		Run: h.Spec.Run, Bus: h.Bus, Mirror: h.Mirror, Budget: h.budget, AllowUnverified: h.unverified,
		AllowUnread: h.unread, Notices: h.Notices, Clock: depot.Now, NewID: depot.NewID, Log: h.Log, Tree: h.Tree,
		Approve: h.approver(), Closing: h.recording, Setup: setup, Interactive: h.Approve != nil, Publish: h.from().publish,
		Person: depot.Account(), OnDoubt: h.OnDoubt,
		Decide: h.decider(), AskHeld: h.AskHeld, Keys: h.Spec.Keys, Version: release.Version(), Ordered: h.Ordered,
		Signs: h.Signs, Held: h.Held, Asked: h.Asked, Caller: h.Caller,
	}
	if h.ProveTwin != nil {
		c.Twin = h.twin
	}
	if b := h.Spec.Project.BudgetDay; !b.IsZero() {
		h.configureDay(&c, b)
	}
	h.workers().configure(&c)
	return c
}

// configureDay has the conductor know what is spent of the budget of the day, and raise it.
func (h *Half) configureDay(c *conductor.Config, b spec.Budget) {
	common := depot.CommonIn(h.Dir.Path)
	c.Day = func() (run.Day, spec.Sum, error) {
		day, spent, err := common.Today(b, depot.Now())
		return day, spec.Sum{Tokens: int(spent), Money: spec.Money(spent)}, err
	}
	c.RaisedDay = func(raised spec.Budget) {
		if err := common.RaiseDay(raised, depot.Now); err != nil {
			h.notice(err.Error())
		}
	}
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

// limit is the budget of the run.
func (h *Half) limit(st *run.State) spec.Budget {
	switch {
	case h.budget != nil:
		return *h.budget
	case st.Spec.Run != "":
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

// Tree reads a commit for shard rules; their commands run confined in a slot of their own, over an environment.
func (h *Half) Tree(commit, environment string) plan.Tree {
	run := func(ctx context.Context, commit string, command []string) ([]byte, error) {
		if err := h.from().runs(command); err != nil {
			return nil, err
		}
		r := shard.Runner{
			Run: h.Spec.Run, Created: h.Spec.Created, Env: h.Spec.Project.Env, Git: h.Git, Mirror: h.Mirror, Caches: h.Caches,
			Environments: h.Environments, Log: h.Log, Environ: h.environ(ctx),
		}
		return r.Shards(ctx, commit, environment, command)
	}
	return shard.Tree(h.Mirror, commit, run)
}

// environ is the environment that commands on this machine take their PATH from.
func (h *Half) environ(ctx context.Context) []string {
	var dir string
	if h.Checkout != nil {
		dir = h.Checkout.Top
	}
	return slices.Concat(h.shell.Environ(ctx, &h.Spec, dir), h.login())
}

// login are the variables for what coding agents keep in files of the account of this process.
func (h *Half) login() []string { return needs.Login(h.Dir, h.Checkout, &h.Spec) }
