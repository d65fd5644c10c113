package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/git"
	"divisi/internal/gocache"
	"divisi/internal/model"
	"divisi/internal/sandbox"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/fit"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
	"divisi/subagents/wire"
	"divisi/subagents/worker"
	"divisi/subagents/workspace"

	"divisi/orchestrator/eventlog"
)

// work is the half of a run that works: queue, slots, executors, models. See conduct.
type work struct {
	place

	run    string
	bus    *bus.Bus
	git    *git.Git
	notice func(string)
	// shared reports that the conducting half works in the same state directory, and so on the same mirror.
	shared         bool
	record, replay string
	// key is the file with the key that signs receipts.
	key  string
	lost atomic.Int64  // exchanges that could not be recorded
	at   atomic.Uint64 // the position in the log up to which it knows the setups of the run

	// engaged is what a worker of many runs has of this one; nil for the run's own.
	engaged *engagement

	name    string        // of the setup
	look    chan struct{} // has follow look for another one at once; nil where the log is followed on the bus
	begun   bool          // to take attempts off the queue
	setup   *wire.Setup
	path    string
	mirror  *git.Repo
	brought brought
	hands   *worker.Worker
	closers
}

// begun is the last of what some events of a run tell a worker.
type begun struct {
	setup string
	ended run.Status
	pos   uint64
}

func (b *begun) take(m bus.Message) {
	b.pos = m.Pos
	for _, e := range eventlog.Events(m) {
		var d run.Data
		if e.Kind != contextscope.KindRun || json.Unmarshal(e.Data, &d) != nil {
			continue
		}
		if d.Setup != "" {
			b.setup, b.ended = d.Setup, ""
		}
		if d.State.Ended() {
			b.ended = d.State
		}
	}
}

// setupTime bounds how long a run that is announced takes to name its setup.
const setupTime = time.Minute

// await waits until the run has a setup, and returns it with its place in the log.
func (w *work) await(ctx context.Context) (setup string, pos uint64, err error) {
	subject := bus.ConductorSubject(w.run, string(contextscope.KindRun))
	waiting, cancel := context.WithTimeout(ctx, setupTime)
	defer cancel()
	var b begun
	for m, err := range w.events(nil).Read(waiting, subject, 1) {
		if waiting.Err() != nil {
			break
		}
		if err != nil {
			return "", 0, fmt.Errorf("read the log of run %s: %w", w.run, err)
		}
		b.take(m)
	}
	if b.ended != "" {
		return "", 0, usage.Errorf("run %s is not active: %s", w.run, b.ended)
	}
	if b.setup == "" {
		for m, err := range w.events(nil).Tail(waiting, subject, b.pos+1) {
			if err != nil {
				return "", 0, fmt.Errorf("follow the log of run %s: %w", w.run, err)
			}
			if b.take(m); b.setup != "" {
				break
			}
		}
	}
	switch {
	case b.setup != "":
		return b.setup, b.pos, nil
	case ctx.Err() != nil:
		return "", 0, ctx.Err()
	}
	return "", 0, usage.Errorf("no process has begun to conduct run %s on %s within %s: "+
		"look at the run's id, and whether it uses that server", w.run, w.bus.URL(), setupTime)
}

// begin works until what it returns is called, which waits for it: from behind a position of the log on, when the setup that
// was prepared is named there. What keeps it from working goes to fail. A nil work does nothing.
func (w *work) begin(ctx context.Context, from uint64, fail func(error)) (stop func()) {
	if w == nil {
		return func() {}
	}
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
func (w *work) follow(ctx context.Context, from uint64) error {
	defer w.stop()
	for m, err := range w.events(nil).Tail(ctx, bus.ConductorSubject(w.run, string(contextscope.KindRun)), from+1) {
		if err != nil {
			return fmt.Errorf("follow the log of run %s: %w", w.run, err)
		}
		var b begun
		if b.take(m); b.ended != "" {
			return nil
		}
		if b.setup != "" {
			w.at.Store(b.pos)
			if err := w.start(ctx, b.setup); err != nil {
				return err
			}
		}
	}
	return nil
}

// outdated reports whether the log names another setup than the one that the worker works by, and has follow begin with it.
func (w *work) outdated(ctx context.Context) (bool, error) {
	var b begun
	for m, err := range w.events(nil).Read(ctx, bus.ConductorSubject(w.run, string(contextscope.KindRun)), w.at.Load()+1) {
		if err != nil {
			return false, fmt.Errorf("read the setups of run %s: %w", w.run, err)
		}
		b.take(m)
	}
	if b.setup == "" || b.setup == w.name {
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
func (w *work) start(ctx context.Context, setup string) error {
	if w.name != setup || w.begun {
		w.stop()
		w.release()
		if err := w.prepare(ctx, setup); err != nil {
			return w.unready(ctx, err)
		}
	}
	w.begun = true
	if w.engaged != nil {
		if err := w.engaged.enlist(ctx, w); err != nil {
			return err
		}
	}
	return w.hands.Start(ctx)
}

// drain ends what has begun at the next turn, until ctx ends; active lists it.
func (w *work) drain(ctx context.Context) {
	if w.hands != nil {
		w.hands.Drain(ctx)
	}
}

func (w *work) active() []string {
	if w.hands == nil {
		return nil
	}
	return w.hands.Active()
}

// stop hands back what is being worked on.
func (w *work) stop() {
	if w.hands != nil {
		w.hands.Stop()
	}
}

// prepare makes what a setup tells: slots, caches, models, tools. What is made is released by release.
func (w *work) prepare(ctx context.Context, name string) (err error) {
	if w.setup, err = wire.UnsealSetup(ctx, w.bus, w.run, name); err != nil {
		return err
	}
	w.name = name
	if level := sandbox.Probe(); w.setup.Strict && level.Strict() != nil {
		return fmt.Errorf("run %s: %w", w.run, level.Strict())
	}
	w.path = w.dir.Run(w.run)
	for _, d := range []string{"", outputsDir} {
		if err := os.MkdirAll(filepath.Join(w.path, d), 0o700); err != nil {
			return fmt.Errorf("make the run's directories: %w", err)
		}
	}
	w.find(w.setup.Caches)
	if w.engaged != nil {
		if err := w.engaged.equips(w, w.setup); err != nil {
			return err
		}
	}
	release, err := w.keep(w.notice)
	if err != nil {
		return err
	}
	w.later(release)
	if err := w.takeLent(ctx); err != nil {
		return err
	}
	if w.mirror, err = w.base(ctx); err != nil {
		return err
	}
	w.later(w.mirror.Close)
	return w.equip(ctx)
}

// equip makes the worker.
func (w *work) equip(ctx context.Context) error {
	if killed, err := sandbox.Sweep(w.run, w.as()); err != nil {
		w.log.Warn().Err(err).Msg("commands of an earlier holder could not be listed")
	} else if killed > 0 {
		w.log.Info().Int("killed", killed).Msg("commands of an earlier holder were still running")
	}
	w.sweep() // what it left
	w.later(w.sweep)
	if err := os.Mkdir(filepath.Join(w.path, "tmp"), 0o700); err != nil {
		return fmt.Errorf("make the run's directories: %w", err)
	}
	pool, err := workspace.NewPool(w.git, w.mirror, filepath.Join(w.path, slotsDir), w.setup.Created)
	if err != nil {
		return err
	}
	refs, err := w.mirror.Refs()
	if err != nil {
		return err
	}
	toolchain, err := sandbox.AskGo(ctx)
	if err != nil {
		return err
	}
	beside, err := w.takeBeside(ctx)
	if err != nil {
		return err
	}
	rate := model.NewRateLimit(w.setup.Quotas)
	models, err := w.models(ctx, rate)
	if err != nil {
		return err
	}
	if err := w.shareLimits(ctx, rate); err != nil {
		return err
	}
	// With the credential of the bus, commands could forge results. What a command needs of these files it is given.
	if err := w.hide(); err != nil {
		return fmt.Errorf("hide the state of run %s from its commands: %w", w.run, err)
	}
	cfg := worker.Config{
		Bus: w.bus, Model: models, RateLimit: rate, Mirror: w.mirror, Pool: pool,
		Caches:  sandbox.Caches{Dir: w.caches, Go: toolchain, Lender: w.lend(ctx, toolchain.BuildCache)},
		Outputs: filepath.Join(w.path, outputsDir), Environments: w.environments, Temp: filepath.Join(w.path, "tmp"),
		Environ: os.Environ(), Gates: gate.NewLimiter(runtime.NumCPU()), Parallel: w.setup.Parallel, Run: w.run,
		Tools: plan.Tools(w.checks, w.setup.Roles), Checkout: beside, InitBranch: refs.Init, Conductor: w.setup.Key,
		Full:  func(err error) { tells(w, call.ConductorFull, err.Error()) },
		Clock: now, IDs: newID, Log: w.log,
	}
	if w.engaged != nil {
		cfg.Events, cfg.Outdated = w.events, w.outdated
	}
	if err := w.sign(&cfg); err != nil {
		return err
	}
	if w.setup.Memory {
		cfg.Memory = remote{w}
	}
	if !w.shared { // a worker that says nothing for so long is not there, and neither is what it has
		cfg.Fetch, cfg.AckWait = w.fetch, wire.PresentFor
	}
	w.hands = worker.NewWorker(cfg)
	return nil
}

// as is the name of the worker in the run.
func (w *work) as() string {
	if w.engaged != nil {
		return w.engaged.worker.o.Name
	}
	return worker.LocalName
}

// hide keeps the runs of this state directory from commands, and of a worker of many runs all of the directory: it has the login,
// and the key that signs. What a command needs below it the command is given.
func (w *work) hide() error {
	if w.engaged != nil {
		return sandbox.Hide(filepath.Dir(w.dir.Path))
	}
	return sandbox.Hide(w.dir.Runs())
}

// sign gives a worker its name, its key and the roles that it serves.
func (w *work) sign(cfg *worker.Config) (err error) {
	if e := w.engaged; e != nil {
		cfg.Name, cfg.Key, cfg.Places, cfg.Roles = e.worker.o.Name, e.worker.key, e.worker.places, e.serves
		cfg.Owner, cfg.Accept = fit.Grants(e.worker.policy), w.accepts
		cfg.Broke, cfg.Lacks = e.worker.broke, e.worker.lacking
		cfg.Foreign = func(ctx context.Context, f wire.Foreign) (wire.Part, error) { return e.foreign(ctx, w, f) }
		return nil
	}
	cfg.Roles = slices.Collect(maps.Keys(w.setup.Roles))
	if cfg.Key, err = readKey(w.key); err != nil {
		return fmt.Errorf("take the key that signs receipts of run %s: %w", w.run, err)
	}
	return nil
}

// lend serves the user's build cache to gates and returns the socket, empty for none: then they compile.
func (w *work) lend(ctx context.Context, builds string) string {
	if !filepath.IsAbs(builds) {
		return ""
	}
	lender, err := gocache.Lend(ctx, builds, filepath.Join(w.path, "tmp"))
	if err != nil {
		w.log.Debug().Err(err).Msg("gates compile what they need")
		return ""
	}
	w.later(func() {
		err := lender.Close()
		w.log.Debug().Err(err).Int("asked", lender.Asked).Int("lent", lender.Lent).Msg("entries of the user's Go build cache")
	})
	return lender.Socket
}
