// Package station runs the attempts of one run, or of all runs of a server. Its input is a bus, and the setup that a conductor
// has sealed; its output are the events of the attempts that it executes. What it lacks, it asks the half that conducts. It knows
// nothing of that half but its calls, and decides nothing about a run.
package station

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/git"
	"divisi/internal/gocache"
	"divisi/internal/model"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
	"divisi/subagents/wire"
	"divisi/subagents/worker"
	"divisi/subagents/workspace"
)

// Work is the half of a run that works: queue, slots, executors, models.
type Work struct {
	depot.Place

	Run    string
	Bus    *bus.Bus
	Git    *git.Git
	Notice func(string)
	// Shared reports that the conducting half works in the same state directory, and so on the same mirror.
	Shared         bool
	Record, Replay string
	// Environ is the environment that commands take their PATH from; nil for that of this process.
	Environ []string
	// Key is the file with the key that signs receipts.
	Key  string
	lost atomic.Int64  // exchanges that could not be recorded
	at   atomic.Uint64 // the position in the log up to which it knows the setups of the run

	// engaged is this run's part of a worker of many runs, name that worker's, remotes are its clones by repository; zero for the
	// run's own.
	engaged *workerRun
	name    string
	remotes map[string]string

	setup   string        // the name of the one it works by
	look    chan struct{} // has follow look for another one at once; nil where the log is followed on the bus
	begun   bool          // to take attempts off the queue
	Setup   *wire.Setup
	Path    string
	Mirror  *git.Repo
	brought brought
	hands   *worker.Worker
	// budget is that of the calls of this process.
	budget atomic.Pointer[model.Budget]
	depot.Closers
}

// Begun is the last of what some events of a run tell a worker.
type Begun struct {
	Setup string
	ended run.Status
	pos   uint64
}

// Take takes in the events of one message of the run's log.
func (b *Begun) Take(m bus.Message) {
	b.pos = m.Pos
	for _, e := range eventlog.Events(m) {
		var d run.Data
		if e.Kind != contextscope.KindRun || json.Unmarshal(e.Data, &d) != nil {
			continue
		}
		if d.Setup != "" {
			b.Setup, b.ended = d.Setup, ""
		}
		if d.State.Ended() {
			b.ended = d.State
		}
	}
}

// setupTime bounds how long a run that is announced takes to name its setup.
const setupTime = time.Minute

// await waits until the run has a setup, and returns it with its place in the log.
func (w *Work) await(ctx context.Context) (setup string, pos uint64, err error) {
	subject := bus.ConductorSubject(w.Run, string(contextscope.KindRun))
	waiting, cancel := context.WithTimeout(ctx, setupTime)
	defer cancel()
	var b Begun
	for m, err := range w.party().events(nil).Read(waiting, subject, 1) {
		if waiting.Err() != nil {
			break
		}
		if err != nil {
			return "", 0, fmt.Errorf("read the log of run %s: %w", w.Run, err)
		}
		b.Take(m)
	}
	if b.ended != "" {
		return "", 0, usage.Errorf("run %s is not active: %s", w.Run, b.ended)
	}
	if b.Setup == "" {
		for m, err := range w.party().events(nil).Tail(waiting, subject, b.pos+1) {
			if err != nil {
				return "", 0, fmt.Errorf("follow the log of run %s: %w", w.Run, err)
			}
			if b.Take(m); b.Setup != "" {
				break
			}
		}
	}
	switch {
	case b.Setup != "":
		return b.Setup, b.pos, nil
	case ctx.Err() != nil:
		return "", 0, ctx.Err()
	}
	return "", 0, usage.Errorf("no process has begun to conduct run %s on %s within %s: "+
		"check the run's id, and whether it uses that server", w.Run, w.Bus.URL(), setupTime)
}

// Begin works until what it returns is called, which waits for it: from behind a position of the log on, when the setup that
// was prepared is named there. What keeps it from working goes to fail.
func (w *Work) Begin(ctx context.Context, from uint64, fail func(error)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := w.follow(ctx, from); err != nil && ctx.Err() == nil {
			fail(err)
		}
	}()
	return func() { cancel(); <-ended }
}

// follow works as the newest setup in the log tells, from behind a position on, until the run has ended or ctx has.
func (w *Work) follow(ctx context.Context, from uint64) error {
	defer w.stop()
	for m, err := range w.party().events(nil).Tail(ctx, bus.ConductorSubject(w.Run, string(contextscope.KindRun)), from+1) {
		if err != nil {
			return fmt.Errorf("follow the log of run %s: %w", w.Run, err)
		}
		var b Begun
		if b.Take(m); b.ended != "" {
			return nil
		}
		if b.Setup != "" {
			w.at.Store(b.pos)
			if err := w.start(ctx, b.Setup); err != nil {
				return err
			}
		}
	}
	return nil
}

// outdated reports whether the log names another setup than the one that the worker works by, and has follow begin with it.
func (w *Work) outdated(ctx context.Context) (bool, error) {
	var b Begun
	subject := bus.ConductorSubject(w.Run, string(contextscope.KindRun))
	for m, err := range w.party().events(nil).Read(ctx, subject, w.at.Load()+1) {
		if err != nil {
			return false, fmt.Errorf("read the setups of run %s: %w", w.Run, err)
		}
		b.Take(m)
	}
	if b.Setup == "" || b.Setup == w.setup {
		return false, nil
	}
	select {
	case w.look <- struct{}{}:
	default:
	}
	return true, nil
}

// start begins to take attempts off the queue, as a setup tells. Each setup is of a conductor that has just emptied the queue,
// even where it equals the one before: what is being worked on is left to a worker that takes it off the new queue.
func (w *Work) start(ctx context.Context, setup string) error {
	if w.setup != setup || w.begun {
		w.stop()
		w.Release()
		if err := w.Prepare(ctx, setup); err != nil {
			return w.party().unready(ctx, err)
		}
	}
	w.begun = true
	if err := w.party().enlist(ctx); err != nil {
		return err
	}
	return w.hands.Start(ctx)
}

// drain ends what has begun at the next turn, until ctx ends; active lists it.
func (w *Work) drain(ctx context.Context) {
	if w.hands != nil {
		w.hands.Drain(ctx)
	}
}

func (w *Work) active() []string {
	if w.hands == nil {
		return nil
	}
	return w.hands.Active()
}

// stop hands back what is being worked on.
func (w *Work) stop() {
	if w.hands != nil {
		w.hands.Stop()
	}
}

// Prepare makes what a setup tells: slots, caches, models, tools. What is made is released by release.
func (w *Work) Prepare(ctx context.Context, name string) (err error) {
	if w.Setup, err = wire.UnsealSetup(ctx, w.Bus, w.Run, name); err != nil {
		return err
	}
	w.setup = name
	if level := sandbox.Probe(); w.Setup.Strict && level.Strict() != nil {
		return fmt.Errorf("run %s: %w", w.Run, level.Strict())
	}
	w.Path = w.Dir.Run(w.Run)
	for _, d := range []string{"", depot.OutputsDir} {
		if err := os.MkdirAll(filepath.Join(w.Path, d), 0o700); err != nil {
			return fmt.Errorf("make the run's directories: %w", err)
		}
	}
	w.Find(w.Setup.Caches)
	if err := w.party().equips(); err != nil {
		return err
	}
	release, err := w.Keep(w.Notice)
	if err != nil {
		return err
	}
	w.Later(release)
	if err := w.party().bring(ctx); err != nil {
		return err
	}
	if w.Mirror, err = w.Base(ctx); err != nil {
		return err
	}
	w.Later(w.Mirror.Close)
	return w.equip(ctx)
}

// equip makes the worker.
func (w *Work) equip(ctx context.Context) error {
	if killed, err := sandbox.Sweep(w.Run, w.as()); err != nil {
		w.Log.Warn().Err(err).Msg("commands of an earlier holder could not be listed")
	} else if killed > 0 {
		w.Log.Info().Int("killed", killed).Msg("commands of an earlier holder were still running")
	}
	w.sweep() // what it left
	w.Later(w.sweep)
	if err := os.Mkdir(filepath.Join(w.Path, "tmp"), 0o700); err != nil {
		return fmt.Errorf("make the run's directories: %w", err)
	}
	pool, err := workspace.NewPool(w.Git, w.Mirror, filepath.Join(w.Path, depot.SlotsDir), w.Setup.Created)
	if err != nil {
		return err
	}
	refs, err := w.Mirror.Refs()
	if err != nil {
		return err
	}
	environ := w.environ(ctx)
	toolchain, err := sandbox.AskGo(ctx, environ)
	if err != nil {
		return err
	}
	beside, err := w.TakeBeside(ctx)
	if err != nil {
		return err
	}
	rate := model.NewRateLimit(w.Setup.Quotas)
	budget, err := w.limit()
	if err != nil {
		return err
	}
	w.budget.Store(budget)
	models, err := w.models(ctx, rate, budget)
	if err != nil {
		return err
	}
	if err := w.shareLimits(ctx, rate); err != nil {
		return err
	}
	// With the credential of the bus, commands could forge results. What a command needs of these files it is given.
	if err := w.party().hide(); err != nil {
		return fmt.Errorf("hide the state of run %s from its commands: %w", w.Run, err)
	}
	cfg := worker.Config{
		Bus: w.Bus, Model: models, RateLimit: rate, Calls: worker.Calls{Budget: budget, Limit: rate},
		Mirror: w.Mirror, Pool: pool,
		Caches:  sandbox.Caches{Dir: w.Caches, Go: toolchain, Lender: w.lend(ctx, toolchain.BuildCache)},
		Outputs: filepath.Join(w.Path, depot.OutputsDir), Environments: w.Environments, Temp: filepath.Join(w.Path, "tmp"),
		Environ: environ, Gates: gate.NewLimiter(runtime.NumCPU()), Parallel: w.Setup.Parallel, Run: w.Run,
		Tools: plan.Tools(w.checks, w.Setup.Roles), Checkout: beside, InitBranch: refs.Init, Conductor: w.Setup.Key,
		Full:  func(err error) { tells(w, call.ConductorFull, err.Error()) },
		Clock: depot.Now, IDs: depot.NewID, Log: w.Log,
	}
	if err := w.party().sign(&cfg); err != nil {
		return err
	}
	if w.Setup.Memory {
		cfg.Memory = remote{w}
	}
	w.hands = worker.NewWorker(cfg)
	return nil
}

// limit is the budget of the calls of this process: that of the run, within that of the day.
func (w *Work) limit() (*model.Budget, error) {
	budget, day := w.party().budget(), w.Setup.Project.BudgetDay
	if day.IsZero() || w.Replay != "" {
		return budget, nil
	}
	if budget == nil {
		budget = model.NewBudget(spec.Budget{}, 0, nil)
	}
	pool, err := w.party().common().Day(w.Run+" "+w.as(), depot.Now)
	return budget.Within(model.NewPooled(day, model.PricesOf(&w.Setup.Project), pool)), err
}

// Raise sets another budget for the calls of this process; without one there is no limit any more.
func (w *Work) Raise(b spec.Budget) {
	if had := w.budget.Load(); had != nil {
		had.Raise(b.Amount)
	}
}

// as is the name of the worker in the run.
func (w *Work) as() string {
	return cmp.Or(w.name, wire.LocalName)
}

// lend serves the user's build cache to gates and returns the socket, empty for none: then they compile.
func (w *Work) lend(ctx context.Context, builds string) string {
	if !filepath.IsAbs(builds) {
		return ""
	}
	lender, err := gocache.Lend(ctx, builds, filepath.Join(w.Path, "tmp"))
	if err != nil {
		w.Log.Debug().Err(err).Msg("gates compile their inputs")
		return ""
	}
	w.Later(func() {
		err := lender.Close()
		w.Log.Debug().Err(err).Int("asked", lender.Asked).Int("lent", lender.Lent).Msg("entries of the user's Go build cache")
	})
	return lender.Socket
}
