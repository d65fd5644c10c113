package orchestrator

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/configs"
	"divisi/contextscope/memory"
	"divisi/internal/git"
	"divisi/internal/gocache"
	"divisi/internal/model"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/orchestrator/baseline"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/dashboard"
	"divisi/orchestrator/needs"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/report"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
	"divisi/subagents/checkout"
	"divisi/subagents/environment"
	"divisi/subagents/gate"
	"divisi/subagents/tool"
	"divisi/subagents/wire"
	"divisi/subagents/worker"
	"divisi/subagents/workspace"
)

// holder owns the resources of one active run.
type holder struct {
	Host
	dir store.Dir
	log zerolog.Logger
	// spec is what the run is to do; path is its directory, caches where its commands keep theirs.
	spec         run.Spec
	path, caches string
	git          *git.Git
	checkout     *git.Checkout
	mirror       *git.Repo
	bus          *bus.Bus
	trash        *workspace.Trash
	// full ends the run because its store is full, or stops it in order.
	full context.CancelCauseFunc
	// beside is what trees have of the checkout beside the files that git stores.
	beside       *checkout.Content
	environments *environment.Store
	// positions are the places in the plan file, skipped the agents of other programs that are no roles here.
	positions *configs.Positions
	skipped   []configs.Skipped
	// repoRoles are the roles of the repository's own files, whose requests need trust.
	repoRoles map[string]spec.Role
	// writePlan is Options.WritePlan.
	writePlan func(ctx context.Context, plan File) (string, error)
	// key signs the receipts of the run's own worker.
	key     ed25519.PrivateKey
	tape    *tape
	notes   *memory.Memory
	notices []string
	// resumes says that the run goes on: budget, when not nil, is its new budget, unverified lets it land what is not proven.
	resumes, unverified bool
	budget              *int
	// proposed counts the proposals of notes that wait at the end of the run.
	proposed int
	// closers release what was taken, the newest first.
	closers []func()
}

func (h *holder) later(f func()) { h.closers = append(h.closers, f) }

func (h *holder) release() {
	for _, f := range slices.Backward(h.closers) {
		f()
	}
}

// launch appends the run's first event, unless it resumes, and begins to conduct. The bus is open.
func (h *holder) launch(ctx context.Context) (*Run, error) {
	r := newRun(h.spec.Run, h.dir, h.bus)
	r.held, r.started = h, ctx.Err
	ctx, h.full = context.WithCancelCause(ctx)
	r.stop = func() { h.full(context.Canceled) }
	h.later(r.stop)
	if err := h.takeKey(); err != nil {
		return nil, err
	}
	var hands *worker.Worker
	cfg := h.conductorConfig()
	cfg.Ready = func(ctx context.Context) error { return hands.Start(ctx) }
	cond, err := conductor.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if h.Dashboard != "" {
		r.page, err = dashboard.New(dashboard.Options{
			Addr: h.Dashboard, Run: r.id, Log: conductor.Log{Bus: h.bus, Run: r.id}, Logger: h.log,
		})
		if err == nil {
			err = r.page.Start(context.WithoutCancel(ctx))
		}
		if err != nil {
			return nil, err
		}
		h.later(r.page.Stop)
	}
	if hands, err = h.worker(ctx, cond.State()); err != nil {
		return nil, err
	}
	if !h.resumes {
		if err := cond.Start(ctx, h.spec); err != nil {
			return nil, err
		}
	}
	h.bus.WaitForRoom(h.notice)
	h.later(func() {
		if !r.st.Status.Ended() {
			return
		}
		if st := h.dir.Conclude(ctx, h.bus, r.id); st != nil {
			r.st = st
		}
	})
	r.live, r.over = context.WithCancel(context.Background())
	go func() {
		defer r.over()
		r.err = cond.Run(ctx)
		if cause := context.Cause(ctx); errors.Is(cause, bus.ErrFull) {
			r.err = cause
		}
		hands.Stop()
		if n, err := h.mirror.PackLoose(ctx); err != nil || n > 0 {
			h.log.Debug().Err(err).Int("objects", n).Msg("the mirror was packed")
		}
		r.st = cond.State()
		h.propose(ctx, r.st)
	}()
	return r, nil
}

func (h *holder) conductorConfig() conductor.Config {
	return conductor.Config{
		Run: h.spec.Run, Bus: h.bus, Mirror: h.mirror, Resume: h.resumes, Budget: h.budget, AllowUnverified: h.unverified,
		Notices: h.notices, Clock: now, NewID: newID, Log: h.log, Tree: h.tree, Approve: h.approver(), Closing: h.tape.notices,
		Interactive: h.Approve != nil, Publish: h.publish, OnDoubt: h.OnDoubt,
		Baselines: &baseline.Store{
			Dir: baseline.Below(h.caches), Cache: filepath.Join(h.caches, string(sandbox.Gates)), Host: h.gateHost, Clock: now,
		},
		Decide: h.decider(), Keys: h.spec.Keys,
	}
}

// onDoubt is what the run does about a doubt that no master decides: it asks where a person watches.
func (h *Host) onDoubt() string {
	if h.OnDoubt == "" && h.Approve == nil {
		return run.OnDoubtReject
	}
	return cmp.Or(h.OnDoubt, run.OnDoubtAsk)
}

// publish puts a commit of the run into the user's repository, as its one new branch. A branch that is no longer where an
// earlier end of the run left it is a person's now: the run's is then the first free one of divisi/<run>-2, -3 and so on.
func (h *holder) publish(ctx context.Context, commit, base, had string) (string, error) {
	for n := 1; ; n++ {
		ref := conductor.IntegrationRef(h.spec.Run)
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

// tree reads a commit for shard rules; their commands run confined in a slot of their own.
func (h *holder) tree(commit string) plan.Tree {
	return &conductor.CommitTree{Repo: h.mirror, Commit: commit, Run: h.shards}
}

// worker makes the worker of the run: slots, caches, models, tools.
func (h *holder) worker(ctx context.Context, st *run.State) (*worker.Worker, error) {
	if killed, err := sandbox.Sweep(h.spec.Run); err != nil {
		h.log.Warn().Err(err).Msg("commands of an earlier holder could not be listed")
	} else if killed > 0 {
		h.log.Info().Int("killed", killed).Msg("commands of an earlier holder were still running")
	}
	h.sweep() // what it left
	h.later(h.sweep)
	pool, err := workspace.NewPool(h.git, h.mirror, filepath.Join(h.path, "slots"))
	if err != nil {
		return nil, err
	}
	toolchain, err := sandbox.AskGo(ctx)
	if err != nil {
		return nil, err
	}
	rate := model.NewRateLimit(st.Quotas)
	models, err := h.models(ctx, st, rate)
	if err != nil {
		return nil, err
	}
	roles := make([]string, 0, len(h.spec.Roles))
	for name := range h.spec.Roles {
		roles = append(roles, name)
	}
	for _, d := range []string{"tmp", outputsDir} {
		if err := os.MkdirAll(filepath.Join(h.path, d), 0o700); err != nil {
			return nil, fmt.Errorf("make the run's directories: %w", err)
		}
	}
	// With the credential of the bus, commands could forge results. What a command needs of these files it is given.
	if err := sandbox.Hide(h.dir.Runs()); err != nil {
		return nil, fmt.Errorf("hide the state of run %s from its commands: %w", h.spec.Run, err)
	}
	h.remember(ctx)
	return worker.NewWorker(worker.Config{
		Key: h.key, Memory: h.notes, Bus: h.bus, Model: models, RateLimit: rate, Mirror: h.mirror, Pool: pool,
		Caches: sandbox.Caches{Dir: h.caches, Go: toolchain, Lender: h.lend(ctx, toolchain.BuildCache)}, Outputs: h.spec.Outputs,
		Environments: h.environments, Temp: filepath.Join(h.path, "tmp"), Environ: os.Environ(),
		Gates: gate.NewLimiter(runtime.NumCPU()), Parallel: max(1, h.spec.Parallel), Roles: roles, Run: h.spec.Run,
		Tools: h.tools, Checkout: h.beside, Full: h.full,
		Clock: now, IDs: newID, Log: h.log,
	}), nil
}

// lend serves the user's build cache to gates and returns the socket, empty for none: then they compile.
func (h *holder) lend(ctx context.Context, builds string) string {
	if !filepath.IsAbs(builds) {
		return ""
	}
	lender, err := gocache.Lend(ctx, builds, filepath.Join(h.path, "tmp"))
	if err != nil {
		h.log.Debug().Err(err).Msg("gates compile what they need")
		return ""
	}
	h.later(func() {
		err := lender.Close()
		h.log.Debug().Err(err).Int("asked", lender.Asked).Int("lent", lender.Lent).Msg("entries of the user's Go build cache")
	})
	return lender.Socket
}

// models connects to the services of the run's models, or to a recording of them; nil where no role needs one. A replay has no
// budget and no retries: what they led to was recorded.
func (h *holder) models(ctx context.Context, st *run.State, rate *model.RateLimit) (model.Model, error) {
	recorder, err := h.recorder()
	switch {
	case err != nil:
		return nil, err
	case h.tape.replay != nil:
		return h.tape.replay, nil
	case !needs.Model(&h.spec):
		return nil, nil
	}
	base, end, err := needs.Connect(ctx, &h.spec)
	if err != nil {
		return nil, err
	}
	h.later(end)
	m := model.New(base, model.Policy{RateLimit: rate, Budget: h.limit(st), Outage: h.spec.Project.Outage()})
	if recorder != nil {
		return recorder.Model(m), nil
	}
	return m, nil
}

// limit is the budget of the run, in tokens, and what of it is spent; nil for none.
func (h *holder) limit(st *run.State) *model.Budget {
	limit := h.spec.Budget
	if h.resumes {
		limit = st.Budget // which may have been raised before
	}
	if h.budget != nil {
		limit = *h.budget
	}
	if limit <= 0 {
		return nil
	}
	return model.NewBudget(limit, st.Usage.Total())
}

// tools brings the master's dispatch: subagents knows only the tool interface.
func (h *holder) tools(a *wire.Assignment) []tool.Tool {
	if !slices.Contains(a.Role.Tools, spec.ToolDispatch) {
		return nil
	}
	fold := func(ctx context.Context) (*run.State, error) { return conductor.Fold(ctx, h.bus, h.spec.Run) }
	return []tool.Tool{plan.NewTool(fold, h.tree, h.spec.Roles)}
}

// sweep removes what only this process needed: the slots, which can be large, and private directories.
func (h *holder) sweep() {
	for _, name := range []string{"slots", "tmp"} {
		if err := h.trash.Put(filepath.Join(h.path, name)); err != nil {
			h.log.Warn().Err(err).Msg("work trees were left behind")
		}
	}
}

// remember opens the memory of the repository; a run goes on without it. Notes that cannot be read are named, and the others
// serve.
func (h *holder) remember(ctx context.Context) {
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

// propose keeps what a run that has ended learnt, for a person to decide about. A run that cannot is no failure.
func (h *holder) propose(ctx context.Context, st *run.State) {
	if h.notes == nil || st.Status != run.Done && st.Status != run.Parked {
		return
	}
	for _, n := range report.Notes(st) {
		if _, err := h.notes.Propose(ctx, n); err != nil {
			h.log.Warn().Err(err).Str("note", n.Title).Msg("a note could not be proposed")
		}
	}
	// What was decided before is not proposed again, and what agents proposed waits too.
	waiting, _, err := h.notes.Proposals(ctx)
	if err != nil {
		h.log.Warn().Err(err).Msg("the proposals could not be counted")
	}
	h.proposed = len(waiting)
}

func now() time.Time { return time.Now().UTC() }

// newID returns a sortable id.
func newID() string { return ulid.Make().String() }

// notice tells a person.
func (h *holder) notice(text string) {
	if h.Notice != nil {
		h.Notice(text)
	}
}
