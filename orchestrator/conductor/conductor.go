package conductor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/git"
	"divisi/internal/machine"
	"divisi/orchestrator/assign"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// ErrDeposed says that another conductor has taken the run: this one must stop at once and write nothing more.
var ErrDeposed = errors.New("another process has taken over this run")

// Config is what a conductor works with.
type Config struct {
	Run string
	Bus *bus.Bus
	// Mirror is Divisi's own bare repository; Publish puts the integration branch into the user's, and returns the ref;
	// had is the commit that it was put at before, or empty.
	Mirror  *git.Repo
	Publish func(ctx context.Context, commit, base, had string) (ref string, err error)
	// Tree reads the content of a commit for expanding shard rules.
	Tree func(commit string) plan.Tree
	// Approve shows a plan to a person, and returns when ctx ends; nil means that nobody can be asked.
	Approve func(ctx context.Context, plan run.PlanData) (bool, error)
	// Interactive says that a person watches who can answer questions: the run then waits for answers, and does not stop.
	Interactive bool
	// Ready starts the run's worker, once the queue holds what the log says and nothing older. It may be nil.
	Ready func(ctx context.Context) error
	// Resume lets a stopped run go on; Budget, when not nil, is its new budget, and AllowUnverified lets it land what is not
	// proven.
	Resume          bool
	Budget          *int
	AllowUnverified bool
	// Notices are said at the start of the run, e.g. that commands are not confined here; Closing, which may be nil, tells those
	// of its end.
	Notices []string
	Closing func() []string
	// Patience is for tests; zero means the usual.
	Patience Patience
	Clock    func() time.Time
	NewID    func() string
	Log      zerolog.Logger
}

// Conductor holds a run: it folds the log, dispatches, and lands. One goroutine (Run) owns all of its state; requests and
// the log's tail reach it over channels. There is one conductor a run at a time: every append is a compare-and-set on the
// conductor's subjects, so that one that was replaced is refused and stops.
type Conductor struct {
	cfg Config
	st  *run.State
	// last is the newest position on the conductor's own subjects.
	last uint64
	// asked is the plan that a person is being shown; answers brings the answer, asking counts those who wait for one.
	asked   int
	answers chan answer
	asking  sync.WaitGroup
	// pausing says that the run stops as soon as nobody is in the middle of something.
	pausing bool
	// stirred are the tasks whose agents have shown themselves since they were last spoken to.
	stirred map[string]bool
	sealer  *assign.Sealer
	// halt is the wait for what the machine lacks, nil while it lacks nothing; heard the newest sign of life of each subject.
	halt  *halt
	heard sync.Map
}

type answer struct {
	plan int
	yes  bool
	err  error
}

// New folds the run's log and returns its conductor. There is none for a run of which an event of a conductor could not be
// read: each of those moves tasks, the integration branch or the budget, and who acts without it hands out or lands twice.
// Agents' events that could not be read cost at most work that is done again.
func New(ctx context.Context, cfg Config) (*Conductor, error) {
	st, err := Fold(ctx, cfg.Bus, cfg.Run)
	if err != nil {
		return nil, err
	}
	if len(st.Unread) > 0 {
		return nil, fmt.Errorf("run %s: %s; it can be looked at, but only the version of Divisi that wrote it can carry it on",
			cfg.Run, st.Unread[0])
	}
	cfg.Patience = cfg.Patience.withDefaults()
	return &Conductor{
		cfg: cfg, st: st, last: st.ConductorPos, answers: make(chan answer, 1), stirred: map[string]bool{},
		sealer: assign.NewSealer(cfg.Run, cfg.Bus, cfg.Mirror),
	}, nil
}

// Fold reads a run's whole log into a state. An event that cannot be read is told in the state's notices.
func Fold(ctx context.Context, b *bus.Bus, runID string) (*run.State, error) {
	st := run.NewState()
	for m, err := range b.Read(ctx, bus.RunFilter(runID), 0) {
		if err != nil {
			return nil, fmt.Errorf("read the log of run %s: %w", runID, err)
		}
		read := events(m)
		for i := range read {
			if err := st.Apply(&read[i]); err != nil {
				return nil, err
			}
		}
	}
	return st, nil
}

// State returns the folded state. It may be read once Run has returned.
func (c *Conductor) State() *run.State { return c.st }

// Run conducts until the run ends, is stopped, or ctx ends, which stops it in order. The error is nil for every end that the
// log tells; it is set when the machine or a service failed, and the run can then be resumed.
func (c *Conductor) Run(ctx context.Context) error {
	if err := c.takeOver(ctx); err != nil {
		return err
	}
	if c.cfg.Ready != nil {
		if err := c.cfg.Ready(ctx); err != nil {
			return err
		}
	}
	// Whoever still waits for this goroutine when it leaves the loop must not wait for ever: inner ends first.
	inner, end := context.WithCancel(ctx)
	defer end()
	asks := make(chan incoming)
	stop, err := c.listen(inner, asks)
	if err != nil {
		return err
	}
	deaf, err := c.hear(inner)
	if err != nil {
		stop()
		return err
	}
	defer deaf()
	tail, tailDone := c.tail(inner)
	err = c.loop(inner, tail, asks)
	end()
	stop()
	<-tailDone
	c.asking.Wait()
	if ctx.Err() != nil && !errors.Is(err, ErrDeposed) {
		return c.interrupted()
	}
	if err != nil && !errors.Is(err, ErrDeposed) {
		return errors.Join(err, c.stopped(context.WithoutCancel(ctx), "failed: "+err.Error()))
	}
	return err
}

// loop takes every rule as far as it goes, then waits for something to happen.
func (c *Conductor) loop(ctx context.Context, tail <-chan tailed, asks <-chan incoming) error {
	sweep, retry := time.NewTicker(c.cfg.Patience.Sweep), time.NewTicker(c.cfg.Patience.Retry)
	defer sweep.Stop()
	defer retry.Stop()
	back, settled, since := c.cfg.Bus.Back(), (<-chan time.Time)(nil), time.Time{}
	for {
		err := c.step(ctx)
		if err != nil || c.st.Status.Ended() {
			return err
		}
		select {
		case t := <-tail:
			if err = c.take(t, tail); err == nil {
				c.speak(ctx)
			}
		case r := <-asks:
			err = c.answer(ctx, r)
		case a := <-c.answers:
			err = c.decided(ctx, a)
		case <-sweep.C:
			err = c.sweep(ctx, c.cfg.Clock().Add(-c.cfg.Patience.Lost))
			c.tellAll(ctx)
		case <-back:
			back, settled, since = c.cfg.Bus.Back(), time.After(backGrace), c.cfg.Clock()
		case <-settled:
			err = c.sweep(ctx, since)
		case <-retry.C:
			err = c.retry(ctx)
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

// tellAll repeats to every agent what it may have missed.
func (c *Conductor) tellAll(ctx context.Context) {
	for id := range c.st.Works {
		c.tell(ctx, id)
	}
}

// step applies the rules in their order until none of them acts. The order matters in three places: a stop goes before
// anything that would start work; settled results go before landing, which goes before dispatching, so that an attempt
// starts from the newest head; the end is looked at last.
func (c *Conductor) step(ctx context.Context) error {
	rules := []func(context.Context) (bool, error){
		c.tellHalt, c.keepBudget, c.preflight, c.readPlan, c.settleMaster, c.settleTasks, c.settleVerifies, c.settleBatch,
		c.settleRequests, c.cancelOrphans, c.land, c.tellUnheard, c.dispatch, c.askApproval, c.wake, c.finish, c.stuck,
		c.announceWait,
	}
	if c.pausing {
		return c.paused(ctx)
	}
	for i := 0; i < len(rules); i++ {
		if c.st.Status.Ended() || ctx.Err() != nil {
			return ctx.Err()
		}
		acted, err := rules[i](ctx)
		if err != nil {
			return err
		}
		if acted {
			i = -1
		}
	}
	return nil
}

type tailed struct {
	events []contextscope.Event
	err    error
}

// tail follows the run's log from what is folded on.
func (c *Conductor) tail(ctx context.Context) (<-chan tailed, <-chan struct{}) {
	out, done := make(chan tailed, 256), make(chan struct{})
	from := c.st.Pos + 1
	go func() {
		defer close(done)
		for m, err := range c.cfg.Bus.Tail(ctx, bus.RunFilter(c.cfg.Run), from) {
			t := tailed{err: err}
			if err == nil {
				t.events = events(m)
			}
			select {
			case out <- t:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, done
}

// take folds one message and whatever else is already waiting, so that the rules look once at all of it.
func (c *Conductor) take(t tailed, tail <-chan tailed) error {
	for {
		if t.err != nil {
			return fmt.Errorf("follow the log of run %s: %w", c.cfg.Run, t.err)
		}
		for i := range t.events {
			if err := c.fold(&t.events[i]); err != nil {
				return err
			}
		}
		select {
		case t = <-tail:
		default:
			return nil
		}
	}
}

// fold applies what a worker wrote. The conductor's own events are folded when they are appended; one that is newer than
// them was written by a successor.
func (c *Conductor) fold(e *contextscope.Event) error {
	if e.Agent != "" {
		if e.Kind == contextscope.KindStarted || e.Kind == contextscope.KindTurn || e.Kind == contextscope.KindTool {
			c.stirred[e.Task] = true
		}
		if err := c.st.Apply(e); err != nil {
			return err
		}
		if a := c.st.Attempt(e.Task, e.Attempt); a != nil && a.Lacks != nil && e.Kind == contextscope.KindControl {
			c.lacks(machine.Fault{What: a.Lacks.Class, Path: a.Lacks.Detail})
		} else if e.Kind == contextscope.KindResult && c.halt != nil && c.halt.over {
			c.halt = nil
		}
		return nil
	}
	if e.Pos > c.last {
		return fmt.Errorf("event %s at %d: %w", e.ID, e.Pos, ErrDeposed)
	}
	return nil
}

// append writes one event of the conductor and folds it in. It is refused when another conductor has written.
func (c *Conductor) append(ctx context.Context, kind contextscope.Kind, task string, data any) error {
	e, err := c.event(kind, task, data)
	if err != nil {
		return err
	}
	return c.commit(ctx, e)
}

// commit is append for an event that is made.
func (c *Conductor) commit(ctx context.Context, e contextscope.Event) error {
	kind := e.Kind
	encoded, err := wire.EncodeEvents([]contextscope.Event{e})
	if err != nil {
		return err
	}
	if encoded, err = wire.Press(encoded); err != nil {
		return fmt.Errorf("append a %s event to run %s: %w", kind, c.cfg.Run, err)
	}
	// An append that a signal broke off would leave open whether it was stored, and this conductor fenced off by its own event.
	ctx, cancel := linger(ctx)
	defer cancel()
	subject, filter := bus.ConductorSubject(c.cfg.Run, string(kind)), bus.ConductorFilter(c.cfg.Run)
	pos, err := c.cfg.Bus.AppendFiltered(ctx, subject, filter, encoded, c.last)
	if errors.Is(err, bus.ErrFenced) {
		return fmt.Errorf("append a %s event to run %s: %w", kind, c.cfg.Run, ErrDeposed)
	}
	if err != nil {
		return fmt.Errorf("append a %s event to run %s: %w", kind, c.cfg.Run, err)
	}
	c.last, e.Pos = pos, pos
	return c.st.Apply(&e)
}

// speak says to agents that have shown themselves what they may have missed.
func (c *Conductor) speak(ctx context.Context) {
	for task := range c.stirred {
		c.tell(ctx, task)
	}
	clear(c.stirred)
}

// linger returns a context that outlives its parent by stopTimeout: for what must not be left half done.
func linger(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() { time.AfterFunc(stopTimeout, cancel) })
	return ctx, func() { stop(); cancel() }
}
