package station

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"divisi/bus"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/needs"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

const (
	// lockPoll is how often a worker looks whether the one before it has ended.
	lockPoll = 200 * time.Millisecond
	// refit is after how long a worker that can do nothing of a run looks again.
	refit = 30 * time.Second
	// enlistRetry is after how long a conductor that does not listen is asked again.
	enlistRetry = time.Second
)

// workerRun is a run that a worker works for, or could not.
type workerRun struct {
	worker *Worker
	run    string
	cancel context.CancelFunc
	// done is closed when the goroutine of the workerRun has ended; err is set by then, or nil.
	done chan struct{}
	err  error
	// worked reports that the run has counted on the worker.
	worked atomic.Bool
	// over is closed when the run is over, or no process conducts it any more; heard is when the conductor has said last that it
	// is there.
	over  chan struct{}
	ends  sync.Once
	heard atomic.Pointer[time.Time]
	// falters has the worker hand back what it is at, and leave until its machine has what it lacks.
	falters chan struct{}
	// again has the conductor told which places the worker has.
	again chan struct{}
	// allowance is the worker's share of the run's budget.
	allowance *allowance

	mu     sync.Mutex // guards what follows
	work   *Work
	rate   *model.RateLimit
	serves []string
	lacks  map[string][]string
	base   string
	told   string // why the worker can do nothing
}

// engage begins to work for a run that is not known yet.
func (w *Worker) engage(ctx context.Context, run string) {
	if !bus.ValidToken(run) {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	e := &workerRun{
		worker: w, run: run, cancel: cancel, done: make(chan struct{}), again: make(chan struct{}, 1),
		falters: make(chan struct{}, 1), over: make(chan struct{}), allowance: newAllowance(w.o.Name),
	}
	e.seen()
	w.mu.Lock()
	w.runs[run] = e
	w.mu.Unlock()
	go func() {
		defer close(e.done)
		defer cancel()
		e.err = e.serve(ctx)
		select {
		case w.ended <- e:
		case <-ctx.Done():
		}
	}()
}

// serve works for the run until it ends or ctx does. Where the worker can do nothing of it, it looks again now and then.
func (e *workerRun) serve(ctx context.Context) error {
	for {
		unfit, err := e.worker.unwell(), error(nil)
		if unfit == nil {
			err = e.untilOver(ctx)
			unfit = e.worker.unwell()
		}
		if unfit == nil && !errors.As(err, &unfit) || e.ended() {
			return err
		}
		e.unable(unfit)
		select {
		case <-time.After(unfit.again()):
		case <-e.over:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// unfitError is why a worker can do nothing of a run: what it lacks by role, or why the conductor does not count on it.
type unfitError struct {
	lacks map[string][]string
	why   string
	soon  bool // it looks again at once
}

func (e *unfitError) Error() string {
	if e.why != "" {
		return e.why
	}
	var roles []string
	for _, role := range slices.Sorted(maps.Keys(e.lacks)) {
		roles = append(roles, fmt.Sprintf("for %s it lacks %s", role, strings.Join(e.lacks[role], ", ")))
	}
	return "this worker can do nothing of it: " + strings.Join(roles, "; ")
}

// again is after how long the worker looks again. A conductor that refuses may be one that stops just now.
func (e *unfitError) again() time.Duration {
	if e.soon {
		return enlistRetry
	}
	if e.why != "" {
		return 2 * wire.PresentEvery
	}
	return refit
}

// unable notes, and tells once, why the worker can do nothing of the run.
func (e *workerRun) unable(unfit *unfitError) {
	e.mu.Lock()
	told := e.told == unfit.Error()
	e.work, e.serves, e.lacks, e.told = nil, nil, unfit.lacks, unfit.Error()
	e.mu.Unlock()
	if !told {
		e.worker.o.Notice(fmt.Sprintf("run %s: %v", e.run, unfit))
	}
}

// once works for the run as its conductor's setups tell, until it ends, ctx does, or the worker is found unfit.
func (e *workerRun) once(ctx context.Context) error {
	o := &e.worker.o
	w := &Work{
		Place: depot.Place{Dir: e.worker.Dir, Log: e.worker.Log}, Run: e.run, Git: e.worker.git,
		Record: o.Record, Replay: o.Replay, Notice: o.Notice, look: make(chan struct{}, 1),
		engaged: e, name: o.Name, remotes: o.Remotes,
	}
	var err error
	if w.Bus, err = o.Server.Open(ctx, e.run); err != nil {
		return err
	}
	defer w.Dir.Close(w.Bus)
	w.Bus.WaitForRoom(func(text string) { o.Notice("run " + e.run + ": " + text) })
	setup, pos, err := w.await(ctx)
	if err != nil {
		return err
	}
	defer w.Release()
	w.at.Store(pos)
	e.allowance.use(w)
	stop, err := e.allowance.listen(ctx, w)
	if err != nil {
		return err
	}
	defer stop()
	ctx, end := context.WithCancel(ctx)
	var repeats sync.WaitGroup
	repeats.Go(func() { e.repeat(ctx, w) })
	defer func() {
		gone := ctx.Err() != nil && !e.ended()
		end()
		repeats.Wait()
		if gone && e.worked.Load() {
			e.allowance.giveBack(w)
			tells(w, call.ConductorLeave, e.worker.Lacks())
		}
	}()
	defer w.stop()
	if err := w.start(ctx, setup); err != nil {
		return err
	}
	return w.follow(ctx, pos)
}

// repeat tells the conductor again which places the worker has: when they change, and in case the conductor took it for lost.
func (e *workerRun) repeat(ctx context.Context, w *Work) {
	tick := time.NewTicker(wire.PresentFor)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-e.again:
		case <-ctx.Done():
			return
		}
		if e.abandoned(w) {
			e.worker.o.Notice(fmt.Sprintf("run %s: no process conducts it: the worker leaves it", e.run))
			e.end()
			return
		}
		if !e.worked.Load() {
			continue
		}
		if err := e.enlist(ctx, w); err != nil && ctx.Err() == nil {
			w.Log.Warn().Err(err).Str("run", e.run).Msg("the conductor does not count on this worker")
		}
	}
}

// meets reports whether the worker can work for a conductor, and tells once why not.
func (w *Worker) meets(c wire.Conducting) bool {
	why := c.Incompatible(w.o.Name, w.facts.Version, w.facts.Protocol)
	if why != "" && !w.told[why] {
		w.told[why] = true
		w.o.Notice(why)
	}
	return why == ""
}

// enlist has the conductor count on the worker: what it signs proves something from then on.
func (e *workerRun) enlist(ctx context.Context, w *Work) error {
	p := e.worker.presence()
	if !slices.Contains(p.Runs[e.run].Serves, spec.RoleTester) {
		p.Gates = 0
	}
	enlisting := &wire.Enlistment{
		Worker: p.Worker, Version: p.Version, Protocol: p.Protocol, Key: p.Key, Since: p.Since, Places: p.Places,
	}
	rate := e.kept()
	enlisting.Holding, enlisting.Limits = e.allowance.holding(), e.ownLimits()
	a, err := Asks(ctx, w, call.ConductorEnlist, *enlisting)
	if errors.As(err, new(*call.Error)) {
		return &unfitError{why: err.Error()}
	}
	if err != nil {
		return err
	}
	e.allowance.take(enlisting.Holding, a.Grant)
	for _, limit := range a.Limits {
		rate.Take(limit.Taken(depot.Now()))
	}
	e.worked.Store(true)
	return nil
}

// equips finds the roles of a setup whose tasks the worker can do. None is an *unfitError.
func (e *workerRun) equips(w *Work, s *wire.Setup) error {
	m := e.worker.fit
	m.Environment = func(id string) bool {
		_, err := w.Environments.Open(id)
		return err == nil || s.Lends == depot.System()
	}
	serves, lacks := []string{}, map[string][]string{}
	for role := range s.Roles {
		switch l := m.Lacks(s, role); {
		case len(l) == 0:
			serves = append(serves, role)
		case s.Wants(role):
			lacks[role] = l
		}
	}
	if len(serves) == 0 {
		return &unfitError{lacks: lacks}
	}
	slices.Sort(serves)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.work, e.serves, e.lacks, e.base = w, serves, lacks, s.Base
	return nil
}

// foreign asks the conductor what to do about an attempt without a baseline of this worker's environment. One that leaves the
// proofs to others says so from then on. A conductor that does not answer may be one that stops just now.
func (e *workerRun) foreign(ctx context.Context, w *Work, f wire.Foreign) (wire.Part, error) {
	f.Unable = wire.Lacking(f.Unable)
	placed, err := call.Ask(ctx, w.line(), call.ConductorForeign, call.Head{At: call.At{Task: f.Task, Attempt: f.Attempt}}, f)
	var called *call.Error
	switch {
	case errors.As(err, &called) && called.Class == call.Refused: // another worker has the attempt by now
		return wire.PartYield, nil
	case err != nil && called == nil && ctx.Err() == nil:
		return wire.PartWait, nil
	}
	if err != nil || placed.Part != wire.PartLeave {
		return placed.Part, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.serves = slices.DeleteFunc(slices.Clone(e.serves), func(role string) bool { return role == spec.RoleTester })
	e.lacks = maps.Clone(e.lacks)
	if e.lacks == nil {
		e.lacks = map[string][]string{}
	}
	e.lacks[spec.RoleTester] = []string{
		"an environment in which all passes on the base commit that passed in the first one: " +
			strings.Join(placed.Lacks, ", "),
	}
	e.changed()
	return placed.Part, nil
}

// service is the worker's report about the run.
func (e *workerRun) service() wire.Service {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := wire.Service{Serves: e.serves, Lacks: e.lacks, Base: e.base}
	if e.work != nil {
		s.At = e.work.active()
	}
	return s
}

// changed has the conductor told which places the worker has now.
func (e *workerRun) changed() {
	select {
	case e.again <- struct{}{}:
	default:
	}
}

// drain ends what the worker has begun for the run at the next turn, or hands it back when ctx ends, and leaves the run.
func (e *workerRun) drain(ctx context.Context) {
	e.mu.Lock()
	w := e.work
	e.mu.Unlock()
	if w != nil {
		w.drain(ctx)
	}
	e.cancel()
	<-e.done
}

// callable returns why the models of a role cannot be called from here.
func (w *Worker) callable(s *wire.Setup, role string) error {
	return needs.Callable(context.Background(), &run.Spec{Project: s.Project, Roles: s.Roles, Plan: planOf(role)}, w.o.Replay)
}

// planOf is a plan with one task of each role: what it needs is what they need.
func planOf(roles ...string) *spec.Plan {
	p := &spec.Plan{}
	for _, role := range roles {
		p.Tasks = append(p.Tasks, spec.Task{Role: role})
	}
	return p
}

// installed reports whether a program is on the search path.
func installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}
