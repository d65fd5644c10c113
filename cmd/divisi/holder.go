package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/configs"
	"divisi/contextscope/memory"
	"divisi/internal/git"
	"divisi/internal/model"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/console"
	"divisi/orchestrator/dashboard"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
	"divisi/subagents/tool"
	"divisi/subagents/wire"
	"divisi/subagents/worker"
	"divisi/subagents/workspace"
)

// holder is everything that carries one run out in this process: bus, mirror, worker, conductor and views.
type holder struct {
	g        *globals
	run      string
	git      *git.Git
	checkout *git.Checkout
	bus      *bus.Bus
	mirror   *git.Repo
	// spec is what the run was asked to do.
	spec run.Spec
	// approve asks a person about a plan; nil where nobody can be asked.
	approve func(ctx context.Context, plan run.PlanData) (bool, error)
	// dashboard is the address of the page; empty for none.
	dashboard string
	notices   []string
	view      *console.Console
	// dir is the run's directory, caches where its commands keep theirs.
	dir, caches string
	// trash is what removes work trees and old caches.
	trash *workspace.Trash
	// positions are the places in the plan file; nil where there is none.
	positions *configs.Positions
	// skipped are agents of other programs that are no roles here.
	skipped []configs.Skipped
	// tape is what becomes of the exchanges with the models.
	tape *tape
	// notes is the memory of the repository.
	notes *memory.Memory
	// proposed counts the proposals of notes that wait at the end of the run.
	proposed int
	// begun says that the run's first event is in the log: what fails before it leaves nothing behind.
	begun bool
	// unverified allows a resumed run to land what is not proven.
	unverified bool
}

// carry conducts the run to its end in this process and returns its state. newBudget, when not nil, replaces the budget.
func (h *holder) carry(ctx context.Context, resume bool, newBudget *int) (st *run.State, err error) {
	var worker *worker.Worker
	cfg := h.conductorConfig(resume, newBudget)
	cfg.Ready = func(ctx context.Context) error { return worker.Start(ctx) }
	cond, err := conductor.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	stopPage, err := h.page(ctx)
	if err != nil {
		return nil, err
	}
	defer stopPage()
	var release func()
	if worker, release, err = h.worker(ctx, cond.State(), newBudget); err != nil {
		return nil, err
	}
	defer release()
	if !resume {
		if err := cond.Start(ctx, h.spec); err != nil {
			return nil, err
		}
	}
	h.begun = true
	stopConsole := h.console(ctx)
	defer func() { err = errors.Join(err, stopConsole()) }()
	err = cond.Run(ctx)
	worker.Stop()
	h.propose(ctx, cond.State())
	return cond.State(), err
}

func (h *holder) conductorConfig(resume bool, newBudget *int) conductor.Config {
	return conductor.Config{
		Run: h.run, Bus: h.bus, Mirror: h.mirror, Resume: resume, Budget: newBudget, AllowUnverified: h.unverified,
		Notices: h.notices,
		Clock:   now, NewID: newID(), Log: h.g.log, Tree: h.tree, Approve: h.approve, Closing: h.tape.notices,
		Interactive: isTerminal(h.g.in) && !h.g.json(),
		Publish:     h.publish,
	}
}

// publish puts a commit of the run into the user's repository, as its one new branch.
func (h *holder) publish(ctx context.Context, commit, base, had string) (string, error) {
	ref := conductor.IntegrationRef(h.run)
	return ref, h.git.Publish(ctx, h.checkout, h.mirror, ref, commit, base, had)
}

// tree reads a commit for shard rules; their commands run confined in a slot of their own.
func (h *holder) tree(commit string) plan.Tree {
	return &conductor.CommitTree{Repo: h.mirror, Commit: commit, Run: h.shards}
}

// log is the run's event log: all that console and dashboard follow.
func (h *holder) log() conductor.Log { return conductor.Log{Bus: h.bus, Run: h.run} }

// page serves the dashboard, where asked for. With JSON its address is told on standard error.
func (h *holder) page(ctx context.Context) (stop func(), err error) {
	if h.dashboard == "" {
		return func() {}, nil
	}
	page, err := dashboard.New(dashboard.Options{Addr: h.dashboard, Run: h.run, Log: h.log(), Logger: h.g.log})
	if err != nil {
		return nil, err
	}
	if err := page.Start(ctx); err != nil {
		return nil, err
	}
	out := h.g.out
	if h.g.json() {
		out = h.g.err
	}
	fmt.Fprintf(out, "dashboard: %s\n", page.URL())
	return page.Stop, nil
}

// console shows the run on standard output until it is stopped, which returns the first error of writing.
func (h *holder) console(ctx context.Context) (stop func() error) {
	h.view = h.g.newConsole()
	restore := func() {}
	if isTerminal(h.g.out) && isTerminal(h.g.err) && !h.g.json() {
		before := h.g.logTo.set(zerolog.ConsoleWriter{Out: h.view, TimeFormat: "15:04:05", NoColor: true})
		restore = func() { h.g.logTo.set(before) }
	}
	followCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- console.Follow(followCtx, h.log(), h.view) }()
	return func() error {
		err := waitFor(done, viewGrace)
		cancel()
		restore()
		if err = errors.Join(err, h.view.Close()); unheard(err) {
			h.g.log.Info().Err(err).Msg("nobody read the output to its end")
			return nil
		}
		return err
	}
}

// keepPipes makes an output that nobody reads any more an error of writing: a run that is piped into head goes on to its end.
func keepPipes() (stop func()) {
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGPIPE)
	return func() { signal.Stop(ignored) }
}

// viewGrace is how long a view may take to show the last events of a run that has ended.
const viewGrace = 1500 * time.Millisecond

func waitFor(done <-chan error, most time.Duration) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case err := <-done:
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	case <-timer.C:
		return nil
	}
}

// worker makes the hands of the run: slots, caches, model, tools.
func (h *holder) worker(ctx context.Context, st *run.State, newBudget *int) (*worker.Worker, func(), error) {
	if killed, err := sandbox.Sweep(h.run); err != nil {
		h.g.log.Warn().Err(err).Msg("commands of an earlier holder could not be looked for")
	} else if killed > 0 {
		h.g.log.Info().Int("killed", killed).Msg("commands of an earlier holder were still running")
	}
	h.sweep() // what it left
	parallel := max(1, h.spec.Parallel)
	pool, err := workspace.NewPool(h.git, h.mirror, filepath.Join(h.dir, "slots"), parallel)
	if err != nil {
		return nil, nil, err
	}
	toolchain, err := sandbox.AskGo(ctx)
	if err != nil {
		return nil, nil, err
	}
	hold := model.NewHold(st.Quotas)
	models, err := h.service(ctx, st, newBudget, hold)
	if err != nil {
		return nil, nil, err
	}
	roles := make([]string, 0, len(h.spec.Roles))
	for name := range h.spec.Roles {
		roles = append(roles, name)
	}
	for _, d := range []string{"tools", "tmp", outputsDir} {
		if err := os.MkdirAll(filepath.Join(h.dir, d), 0o700); err != nil {
			return nil, nil, fmt.Errorf("make the run's directories: %w", err)
		}
	}
	if err := h.hide(); err != nil {
		return nil, nil, err
	}
	h.notes = h.memory(ctx)
	return worker.NewWorker(worker.Config{
		Memory: h.notes,
		Bus:    h.bus, Model: models.model, Hold: hold, Mirror: h.mirror, Pool: pool,
		Caches:   sandbox.Caches{Dir: h.caches, Go: toolchain},
		Outputs:  h.spec.Outputs,
		ToolsDir: filepath.Join(h.dir, "tools"), Temp: filepath.Join(h.dir, "tmp"), Environ: os.Environ(),
		Gates: gate.NewLimiter(runtime.NumCPU()), Parallel: parallel, Roles: roles, Run: h.run, Tools: h.tools,
		Clock: now, IDs: newID(), Log: h.g.log,
	}), func() { models.close(); h.tape.tell(h.g); h.sweep(); h.forget() }, nil
}

// hide takes the runs' own files out of the sight of confined commands, wherever they lie: with the bus's credential they could
// forge results. What a command needs of them it is given.
func (h *holder) hide() error {
	dir := h.dir
	if runs := h.g.store().Runs(); filepath.Dir(dir) == runs {
		dir = runs
	}
	if err := sandbox.Hide(dir); err != nil {
		return fmt.Errorf("hide the state of run %s from its commands: %w", h.run, err)
	}
	return nil
}

// sweep removes what only this process needed: the slots, which can be large, and private directories.
func (h *holder) sweep() {
	if err := errors.Join(h.trash.Put(filepath.Join(h.dir, "slots")), h.trash.Put(filepath.Join(h.dir, "tmp"))); err != nil {
		h.g.log.Warn().Err(err).Msg("work trees were left behind")
	}
}

func (h *holder) fold(ctx context.Context) (*run.State, error) {
	return conductor.Fold(ctx, h.bus, h.run)
}

// tools brings the master's dispatch: subagents knows only the tool interface.
func (h *holder) tools(a *wire.Assignment) []tool.Tool {
	for _, name := range a.Role.Tools {
		if name == spec.ToolDispatch {
			return []tool.Tool{plan.NewTool(h.fold, h.tree, h.spec.Roles)}
		}
	}
	return nil
}

// conclude keeps the summary of a run that has ended.
func (h *holder) conclude(ctx context.Context, end *run.State) {
	if end != nil && end.Status.Ended() {
		h.g.store().Conclude(ctx, h.bus, h.run)
	}
}
