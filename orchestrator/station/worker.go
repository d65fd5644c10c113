package station

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/bus/member"
	"divisi/internal/git"
	"divisi/internal/machine"
	"divisi/internal/release"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/fit"
	"divisi/orchestrator/store"
	"divisi/subagents/wire"
	"divisi/subagents/worker"
)

// Worker serves the runs of a server whose conductors take workers. Its methods may be called from many goroutines.
type Worker struct {
	depot.Place
	depot.Closers

	o      WorkerOptions
	key    ed25519.PrivateKey
	git    *git.Git
	bus    *bus.Bus
	policy *spec.Policy
	places *worker.Places
	fit    fit.Machine
	facts  wire.Presence // what does not change

	// found are runs that conductors say they conduct, ended those that an workerRun has ended, asked what people ask.
	found chan wire.Conducting
	ended chan *workerRun
	asked chan bus.Message
	drain chan struct{}
	told  map[string]bool // why it could not work for runs; of the goroutine of Run, as what follows
	pace  call.Pace       // how often people ask
	// leaves is set once a person has asked it to leave.
	leaves bool

	hurt chan struct{} // an attempt broke off

	mu sync.Mutex // guards what follows; the goroutine of Run alone writes it, but for some of health
	Health
	runs  map[string]*workerRun
	state wire.WorkerState
	until time.Time
	said  json.RawMessage
}

// NewWorker connects to the server. Close releases it.
func NewWorker(ctx context.Context, o WorkerOptions) (_ *Worker, err error) {
	dir, err := filepath.Abs(o.StateDir)
	if err == nil {
		err = o.check()
	}
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, workerDir) // what is conducted in the state directory has the same names
	sandbox.TryIn(dir)
	log := *zerolog.Ctx(ctx)
	w := &Worker{
		Place: depot.Place{Dir: store.Dir{Path: dir, Log: log}, Log: log}, o: o, runs: map[string]*workerRun{},
		state: wire.WorkerReady, told: map[string]bool{},
		found: make(chan wire.Conducting), ended: make(chan *workerRun),
		asked: make(chan bus.Message), drain: make(chan struct{}, 1), hurt: make(chan struct{}, 1),
	}
	if err := w.lock(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.Release()
		}
	}()
	if w.key, err = depot.OwnKey(filepath.Join(dir, depot.KeyFile)); err != nil {
		return nil, fmt.Errorf("take the key of the worker: %w", err)
	}
	if w.git, err = git.New(ctx); err != nil {
		return nil, err
	}
	if err := w.member(); err != nil {
		return nil, err
	}
	w.defaults()
	w.places = worker.NewPlaces(w.o.Agents, w.o.Gates)
	if w.policy, err = w.o.owner().Policy(); err != nil {
		return nil, err
	}
	w.measure(ctx)
	if err := w.confines(); err != nil {
		return nil, err
	}
	w.bus, err = w.o.Server.Open(ctx, "")
	return w, err
}

// member takes the name of a worker that has joined its server: it may write under no other.
func (w *Worker) member() error {
	s, err := store.Server(w.o.Server).Options()
	switch {
	case err != nil:
		return err
	case s.Login == nil && s.Name != "" && w.o.Name != "" && w.o.Name != s.Name:
		return usage.Errorf("the login of the worker is that of %s: it cannot be %s", s.Name, w.o.Name)
	case s.Login == nil:
		w.o.Name = cmp.Or(w.o.Name, s.Name)
		return nil
	case s.Login.Role != member.Worker:
		return usage.Errorf("%s is a login of a %s: a worker needs a token of its own", w.o.Server.Login, s.Login.Role)
	case w.o.Name != "" && w.o.Name != s.Login.Name:
		return usage.Errorf("the worker has joined as %s and cannot be %s", s.Login.Name, w.o.Name)
	}
	w.o.Name = s.Login.Name
	for _, tag := range s.Login.Tags {
		if !slices.Contains(w.o.Tags, tag) {
			w.o.Tags = append(slices.Clip(w.o.Tags), tag)
		}
	}
	return nil
}

func (w *Worker) defaults() {
	o := &w.o
	if o.Agents == 0 {
		o.Agents = depot.DefaultParallel
	}
	if o.Gates == 0 {
		o.Gates = max(1, runtime.NumCPU()/4)
	}
	if o.Grace <= 0 {
		o.Grace = time.Minute
	}
	if o.Room == nil {
		o.Room = machine.Short
	}
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	if o.Name == "" {
		host, _ := os.Hostname() // the part of the key tells enough
		host = depot.TokenOf(host, "")
		o.Name = strings.TrimPrefix(host[:min(len(host), 40)]+"-"+hex.EncodeToString(depot.PublicOf(w.key)[:3]), "-")
	}
	o.Server.Name = o.Name
}

// measure finds what the worker says of its machine.
func (w *Worker) measure(ctx context.Context) {
	level := sandbox.Probe()
	versions := map[string]string{}
	for _, name := range fit.Programs {
		if v := fit.Version(ctx, w.Dir.Path, name); v != "" {
			versions[name] = v
		}
	}
	maps.Copy(versions, w.o.Toolchain)
	w.facts = wire.Presence{
		Worker: w.o.Name, Version: release.Version(), Protocol: wire.Protocol, Key: depot.PublicOf(w.key),
		Since: depot.Now(), Tags: w.o.Tags, System: runtime.GOOS + "/" + runtime.GOARCH,
		Cores: runtime.NumCPU(), Memory: machine.Memory(), Sandbox: level.Name(),
		Programs: versions, Places: wire.Places{Agents: w.o.Agents, Gates: w.o.Gates},
	}
	w.fit = fit.Machine{
		Tags: w.o.Tags, Policy: w.policy, Strict: level.Strict, Find: installed,
		Version: func(name string) string { return versions[name] },
		Models:  w.callable,
	}
}

// confines refuses a machine on which commands of a run could read how the worker logs in, or are less confined than its owner
// wants, and reports what is missing where that is permitted.
func (w *Worker) confines() error {
	level := sandbox.Probe()
	if w.o.Server.Login != "" && !level.Confined() {
		return usage.Errorf("commands of runs could read the login of this worker, %s: work on another machine, or with another "+
			"state directory. %s", w.o.Server.Login, level.String())
	}
	if err := w.o.owner().Strict(w.policy); err != nil {
		return err
	}
	if level.Strict() != nil {
		w.o.Notice(level.String())
	}
	if text := w.o.owner().Unpermitted(); text != "" {
		w.o.Notice(text)
	}
	return nil
}

// Name is the worker's in the subjects of its events.
func (w *Worker) Name() string { return w.o.Name }

// Server is the address of its server.
func (w *Worker) Server() string { return w.bus.URL() }

// Close ends the connection to the server.
func (w *Worker) Close() {
	w.Dir.Close(w.bus)
	w.Release()
}

// workerDir is, in a state directory, what a worker has.
const workerDir = "worker"

// lock makes the directory of the worker, which has one at a time.
func (w *Worker) lock() error {
	if err := os.MkdirAll(w.Dir.Path, 0o700); err != nil {
		return fmt.Errorf("make the directory of the worker: %w", err)
	}
	unlock, err := bus.Lock(w.Dir.Path)
	for end := depot.Now().Add(w.o.Succeeds); errors.As(err, new(*bus.LockedError)) && depot.Now().Before(end); {
		time.Sleep(lockPoll) //nolint:forbidigo // no one reports when another process ends
		unlock, err = bus.Lock(w.Dir.Path)
	}
	if errors.As(err, new(*bus.LockedError)) {
		return usage.Errorf("another worker works in %s: give one of them another state directory", w.Dir.Path)
	}
	if err != nil {
		return fmt.Errorf("take the directory of the worker: %w", err)
	}
	w.Later(func() {
		if err := unlock(); err != nil {
			w.Log.Warn().Err(err).Msg("the directory of the worker was not given up")
		}
	})
	return nil
}

// Drain has the worker take nothing more, end its turns, hand back what is left, and end.
func (w *Worker) Drain() {
	select {
	case w.drain <- struct{}{}:
	default:
	}
}

// Run serves runs until ctx ends, which hands back what is being worked on, or until the worker was drained.
func (w *Worker) Run(ctx context.Context) error {
	stop, err := w.listen(ctx)
	if err != nil {
		return err
	}
	defer stop()
	inner, end := context.WithCancel(ctx)
	err = w.serve(inner)
	end()
	for _, e := range w.engaged() {
		<-e.done
	}
	return err
}

// listen learns of runs and of what people ask, and reports what the worker is, until stop.
func (w *Worker) listen(ctx context.Context) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var stops depot.Closers
	stop = func() { cancel(); stops.Release() }
	quit, err := w.bus.Subscribe(ctx, bus.RunsPresent(), func(m bus.Message, _ func([]byte) error) {
		c, ok := wire.DecodeConducting(m)
		if !ok {
			return
		}
		select {
		case w.found <- c:
		case <-ctx.Done():
		}
	})
	if err == nil {
		stops.Later(quit)
		quit, err = w.bus.Subscribe(ctx, bus.WorkerControl(w.o.Name), func(m bus.Message, _ func([]byte) error) {
			select {
			case w.asked <- m:
			case <-ctx.Done():
			}
		})
	}
	if err == nil {
		stops.Later(quit)
		quit, err = depot.Present(ctx, w.bus, func() { w.Say(ctx, w.bus, bus.WorkerPresence(w.o.Name), w.presence()) })
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("listen on the server of the worker: %w", err)
	}
	stops.Later(quit)
	if err := w.bus.Publish(ctx, bus.PresenceAsk(), nil); err != nil {
		stop()
		return nil, fmt.Errorf("ask for the runs of the server: %w", err)
	}
	return stop, nil
}

// serve is the goroutine that owns what the worker is engaged in.
func (w *Worker) serve(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	idle := depot.Now()
	for {
		select {
		case <-w.bus.Gone():
			if err := w.bus.Unfit(); err != nil {
				return err
			}
			return fmt.Errorf("%w: %s does not admit worker %s any more, as its login was revoked or has another key. Join "+
				"again with a token that its operator makes", bus.ErrDenied, w.bus.URL(), w.o.Name)
		case c := <-w.found:
			w.hear(ctx, c)
		case e := <-w.ended:
			w.mu.Lock()
			delete(w.runs, e.run)
			w.mu.Unlock()
			if e.err != nil && ctx.Err() == nil {
				w.o.Notice(fmt.Sprintf("run %s: %v", e.run, e.err))
			}
			if w.o.Once && e.worked.Load() {
				w.leave(ctx)
				return nil
			}
		case c := <-w.asked:
			if w.answer(ctx, c) {
				w.leave(ctx)
				return nil
			}
		case <-w.drain:
			w.leave(ctx)
			return nil
		case <-w.hurt:
			w.feel()
		case <-tick.C:
			w.unpause()
			w.feel()
			if len(w.runs) > 0 {
				idle = depot.Now()
			}
			if w.o.IdleExit > 0 && depot.Now().Sub(idle) >= w.o.IdleExit {
				w.o.Notice(fmt.Sprintf("no run for %s: the worker ends", w.o.IdleExit))
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// hear takes in what a conductor says of its run.
func (w *Worker) hear(ctx context.Context, c wire.Conducting) {
	e := w.runs[c.Run]
	switch {
	case e != nil && c.Over:
		e.end()
	case e != nil:
		e.seen()
	case !c.Over && w.state != wire.WorkerDraining && w.meets(c):
		w.engage(ctx, c.Run)
	}
}

// leave takes nothing more and waits until agents have ended their turns, at most as long as the grace.
func (w *Worker) leave(ctx context.Context) {
	w.mu.Lock()
	w.state = wire.WorkerDraining
	w.mu.Unlock()
	w.o.Notice("the worker takes nothing more, and ends its attempts at their next turn")
	ctx, cancel := context.WithTimeout(ctx, w.o.Grace)
	defer cancel()
	var done sync.WaitGroup
	for _, e := range w.engaged() {
		done.Go(func() { e.drain(ctx) })
	}
	done.Wait()
}

func (w *Worker) engaged() []*workerRun {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Values(w.runs))
}
