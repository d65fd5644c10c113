// Package worker takes assignments off the queues of the bus, gives each a slot, runs the role's executor (a model agent, a
// command, or the gates) and appends the result. Its input is the queue, its output are the events of the attempt's journal,
// among them the result. It never decides about a run and never retries an attempt; a worker that stops responding costs a
// delivery and never a paid answer, because every step of an attempt is an event in its journal.
package worker

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"divisi/bus"
	"divisi/contextscope/compile"
	"divisi/internal/git"
	"divisi/internal/model"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/agent"
	"divisi/subagents/brief"
	"divisi/subagents/checkout"
	"divisi/subagents/command"
	"divisi/subagents/environment"
	"divisi/subagents/gate"
	"divisi/subagents/journal"
	"divisi/subagents/limit"
	"divisi/subagents/tester"
	"divisi/subagents/tool"
	"divisi/subagents/toolset"
	"divisi/subagents/wire"
	"divisi/subagents/workspace"

	"github.com/oklog/ulid/v2"
	"github.com/rs/zerolog"
)

// Calls are what all calls of models share in the process.
type Calls = command.Calls

// Config is the input of a worker. Bus, Git, Mirror, Pool, Caches.Dir and Environments are needed; Model only for model roles.
type Config struct {
	Bus *bus.Bus
	// Events is the log as an attempt may read it; nil where the worker reads it on the bus by itself.
	Events func(a *wire.Assignment) Log
	// Name is the worker's in the subjects of its events, one token; default "local".
	Name string
	// Key signs its receipts; nil leaves them without a signature.
	Key   ed25519.PrivateKey
	Model model.Model
	// Mirror is the bare repository that the pool's slots borrow from.
	Mirror *git.Repo
	Pool   *workspace.Pool
	// Caches are the build caches; Environments keep what setups leave for every later command; Environ is what the variables of
	// commands are taken from, as os.Environ returns it.
	Caches       sandbox.Caches
	Environments *environment.Store
	// InitBranch is how git init names the first branch in commands.
	InitBranch string
	// Checkout is the content of trees from the user's checkout beside the files that git stores; nil for nothing.
	Checkout *checkout.Content
	// Outputs is the directory that keeps the whole output of gates and setup that failed, for people; empty for none.
	Outputs string
	Environ []string
	// Temp is a directory for the private homes and temporary directories of attempts.
	Temp string
	// Gates bounds how many gates of proofs run at once; nil means one.
	Gates *gate.Limiter
	// Parallel is how many agents work at once, all roles together; default 16. Most of them wait for a model, so it does not
	// depend on the cores: commands and resets of slots have bounds of their own.
	Parallel int
	// Places are those that the worker shares with the workers of other runs in its process. Of a queue that others take from as
	// well it takes only what it has a place for. Nil for places of its own, and a queue of its own.
	Places *Places
	// Roles are the roles that the worker serves; Run the run, empty for all runs of the server.
	Roles []string
	Run   string
	// Tools brings further tools for an attempt, such as the master's dispatch. It may be nil.
	Tools func(a *wire.Assignment) []tool.Tool
	// Memory finds notes for turns; nil means none.
	Memory toolset.Memory
	// Fetch brings a commit that the mirror lacks, with what leads to it from the base; nil where the mirror is the conductor's
	// own, which lacks none.
	Fetch func(ctx context.Context, commit string) error
	// RateLimit reports when the model's service asked every caller to wait. It may be nil: then such time counts like any other.
	RateLimit limit.RateLimit
	// Calls are shared by the gateways of commands.
	Calls Calls
	// Owner holds the grants of the machine's owner to commands; Accept returns why an assignment must not be executed here,
	// nil for all of them.
	Owner  sandbox.Owner
	Accept func(a *wire.Assignment) error
	// Conductor is the public key that assignments on the queue are signed with; nil for one that signs none.
	Conductor []byte
	// Outdated reports whether the run has another setup by now than that of Conductor and Accept. It may be nil.
	Outdated func(ctx context.Context) (bool, error)
	// Foreign asks what to do about an attempt without a baseline of this worker's environment. Nil where there is no other
	// worker.
	Foreign func(ctx context.Context, f wire.Foreign) (wire.Part, error)
	// Lacks returns what the machine lacks. Broke is told why an attempt broke off, a *machine.Fault or another trouble of the
	// machine, and nil when one has ended by itself. Both are nil where there are no other machines.
	Lacks func() error
	Broke func(error)
	// Full is told that the store can take no more events of attempts. It may be nil, and is called from any goroutine, also
	// often.
	Full func(error)
	// Pauses are how long a setup waits for a service that may be away, each before one more try; default tester.Pauses.
	Pauses []time.Duration
	// AckWait is how long the bus waits for a sign of life; default one minute.
	AckWait time.Duration
	// Clock and IDs go into events; default the system's, and ULIDs.
	Clock func() time.Time
	IDs   func() string
	Log   zerolog.Logger
}

// withDefaults returns the configuration with what was left out filled in.
func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name = wire.LocalName
	}
	if c.Parallel <= 0 {
		c.Parallel = defaultParallel
	}
	if c.AckWait <= 0 {
		c.AckWait = time.Minute
	}
	if c.Pauses == nil {
		c.Pauses = tester.Pauses
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.IDs == nil {
		c.IDs = func() string { return ulid.MustNew(ulid.Timestamp(c.Clock()), rand.Reader).String() }
	}
	if c.Events == nil {
		c.Events = func(*wire.Assignment) Log { return c.Bus }
	}
	if c.Tools == nil {
		c.Tools = func(*wire.Assignment) []tool.Tool { return nil }
	}
	if c.Accept == nil {
		c.Accept = func(*wire.Assignment) error { return nil }
	}
	if c.Gates == nil {
		c.Gates = gate.NewLimiter(1)
	}
	return c
}

const defaultParallel = 16

// maxName bounds a worker's name.
const maxName = 64

// maxDeliveries is how often an attempt is dispatched before it counts as poison: each of its workers was lost.
const maxDeliveries = 5

// errShutdown is the cause of every context of a worker that stops.
var errShutdown = errors.New("the worker stops")

// errYields is that cause where the machine of the worker lacks something.
var errYields = errors.New("the worker leaves its attempts to others")

// Log is the part of the log of a run that an attempt reads, and appends to.
type Log interface {
	journal.Log
	toolset.Answers
}

// Worker takes assignments off the queues of its roles and carries them out. One semaphore admits the agents, whatever the
// role, another the proofs: agents never keep a proof from running.
type Worker struct {
	cfg Config
	// compiler is shared: what siblings inherit is narrated once.
	compiler *compile.Compiler
	// patience is how long the log of an attempt may take to come before it is left to another delivery.
	patience time.Duration
	slices   brief.Slices
	siblings *agent.Siblings
	own      ownEnvironments

	*Places

	builds *workspace.Builds
	router *controlRouter
	// cancel ends all work, pull the taking of more.
	cancel context.CancelCauseFunc
	pull   context.CancelFunc

	mu      sync.Mutex
	running bool
	done    sync.WaitGroup
	// broken counts the deliveries that broke off here, by subject; active are those at work.
	broken map[string]int
	active map[string]bool
	// foreign ends the taking of proofs.
	foreign context.CancelFunc
}

// NewWorker returns a worker that has not begun.
func NewWorker(cfg Config) *Worker {
	cfg = cfg.withDefaults()
	w := &Worker{
		cfg: cfg, compiler: compile.NewCompiler(), siblings: agent.NewSiblings(), Places: cfg.Places,
		builds: workspace.NewBuilds(filepath.Join(cfg.Temp, "builds"), cfg.Clock, cfg.Log),
		router: newControlRouter(cfg.Bus, cfg.Log), broken: map[string]int{}, active: map[string]bool{},
		patience: beginPatience,
	}
	if w.Places == nil {
		w.Places = NewPlaces(cfg.Parallel, cfg.Parallel)
	}
	return w
}

// Start opens the queues and returns; the work continues until Stop, or until ctx ends, which Stop still has to wait for. A
// worker is started once.
func (w *Worker) Start(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running {
		return errors.New("the worker was started already")
	}
	if name := w.cfg.Name; !bus.ValidToken(name) || len(name) > maxName {
		return fmt.Errorf("%.80q is no name of a worker: letters, digits, - and _, at most %d", name, maxName)
	}
	queues := make([]*bus.Queue, 0, len(w.cfg.Roles))
	for _, role := range w.cfg.Roles {
		q, err := w.cfg.Bus.Queue(ctx, role, bus.QueueOptions{
			Run: w.cfg.Run, AckWait: w.cfg.AckWait, MaxDeliver: -1, // the worker ends it, with a fault in the log
		})
		if err != nil {
			return fmt.Errorf("start worker %s: %w", w.cfg.Name, err)
		}
		queues = append(queues, q)
	}
	ctx, w.cancel = context.WithCancelCause(ctx)
	pulling, pull := context.WithCancel(ctx)
	w.running, w.pull = true, pull
	proofs, foreign := context.WithCancel(pulling)
	w.foreign = foreign
	for i, q := range queues {
		from := pulling
		if w.cfg.Roles[i] == spec.RoleTester {
			from = proofs
		}
		w.done.Go(func() { w.serve(ctx, from, w.cfg.Roles[i], q) })
	}
	return nil
}

// Stop hands back what is being worked on and waits until every goroutine has ended. It may be called more than once, and on
// a worker that was never started.
func (w *Worker) Stop() {
	w.mu.Lock()
	if w.cancel != nil {
		w.cancel(errShutdown)
	}
	w.mu.Unlock()
	w.done.Wait()
}

// Yield is Stop for a worker whose machine lacks something: others have its attempts at once, and none of them counts as lost.
func (w *Worker) Yield() {
	w.mu.Lock()
	if w.cancel != nil {
		w.cancel(errYields)
	}
	w.mu.Unlock()
	w.done.Wait()
}

// Drain takes nothing new, has agents end at their next turn, and waits until all have ended, or ctx has. What is left is handed
// back by Stop.
func (w *Worker) Drain(ctx context.Context) {
	w.mu.Lock()
	if w.pull != nil {
		w.pull()
	}
	w.mu.Unlock()
	w.router.stopAll()
	ended := make(chan struct{})
	go func() {
		w.done.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// Active lists the places on the queue of what the worker is at.
func (w *Worker) Active() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.active))
}

// serve takes one role's assignments until pulling ends, one after the other: the next is asked for when there is room for this
// one. No role holds room while waiting for a task, so that no role can keep the others out.
func (w *Worker) serve(ctx, pulling context.Context, role string, q *bus.Queue) {
	room := w.agents
	if role == spec.RoleTester {
		room = w.proofs
	}
	gathered := newGathering(w)
	for {
		p := &permit{room: room}
		if w.cfg.Places != nil { // else another worker would wait for what this one has no room for
			w.await(pulling, room)
		}
		d, err := q.Next(pulling)
		if err != nil {
			if pulling.Err() != nil || errors.Is(err, bus.ErrClosed) || errors.Is(err, bus.ErrNoOwner) {
				return
			}
			w.cfg.Log.Error().Err(err).Str("role", role).Msg("no task can be taken now; trying again")
			select {
			case <-time.After(w.cfg.AckWait / 12):
			case <-pulling.Done():
			}
			continue
		}
		if gathered.add(ctx, d) {
			continue
		}
		if w.cfg.Places != nil && !w.admit(p) {
			w.handBack(ctx, d)
			continue
		}
		admitted := make(chan struct{})
		w.done.Go(func() { w.deliver(ctx, d, p, admitted) })
		<-admitted
	}
}

// handBack leaves a delivery to a worker that has room.
func (w *Worker) handBack(ctx context.Context, d *bus.Delivery) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	if err := d.Nak(ctx); err != nil {
		w.cfg.Log.Warn().Err(err).Str("task", d.ID).Msg("could not hand a delivery back; it will be redelivered")
	}
}
