package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/dashboard"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
)

const (
	// endGrace is how long Events waits behind the end of a run of another process: one that was stopped may be resumed.
	endGrace = 300 * time.Millisecond
	// readGrace is how long Wait waits for those who still read the events of a run that has ended.
	readGrace = 1500 * time.Millisecond
)

// Run is a run that this process carries out, or that it is attached to. Its methods may be called from many goroutines.
type Run struct {
	id   string
	dir  store.Dir
	bus  *bus.Bus
	page *dashboard.Server
	// held is nil for a run that this process is attached to; alone says that then no process carries it out.
	held  *holder
	alone bool
	// live ends with the run that is held; stop ends it earlier.
	live       context.Context //nolint:containedctx // it is the life of the run, which outlives Start
	stop, over context.CancelFunc
	// started is the error of the context that the run was started with.
	started func() error
	st      *run.State
	err     error
	// asking is held by who is the conductor of a run that no process carries out.
	asking sync.Mutex
	// closing is closed when nothing more is read, idle when the last reader has left after that.
	mu      sync.Mutex
	readers int
	closing bool
	idle    chan struct{}
	ending  context.Context //nolint:containedctx // it ends what reads the log
	end     context.CancelFunc
	release sync.Once
}

func newRun(id string, dir store.Dir, b *bus.Bus) *Run {
	r := &Run{id: id, dir: dir, bus: b, idle: make(chan struct{})}
	r.ending, r.end = context.WithCancel(context.Background())
	return r
}

// Attach connects to a run: to the process that carries it out; where there is none, this process holds the run's log until Wait
// or Close.
func Attach(ctx context.Context, stateDir, id string) (*Run, error) {
	dir := store.Dir{Path: stateDir, Log: *zerolog.Ctx(ctx)}
	if !bus.ValidToken(id) {
		return nil, usage.Errorf("%q is no run's id", id)
	}
	b, alone, err := dir.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	r := newRun(id, dir, b)
	r.alone = alone
	return r, nil
}

// ID is the run's id.
func (r *Run) ID() string { return r.id }

// Dashboard is the address of the run's page; "" for none.
func (r *Run) Dashboard() string {
	if r.page == nil {
		return ""
	}
	return r.page.URL()
}

// Events yields the events of the run's log, each as docs/log.md has it, from the first on: those to come too, while a process
// carries the run out. An error ends the sequence.
func (r *Run) Events(ctx context.Context) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		ctx, leave, err := r.enter(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		defer leave()
		for b, err := range r.batches(ctx) {
			if err != nil {
				if r.ending.Err() != nil {
					err = fmt.Errorf("%w: %w", ErrClosed, err)
				}
				yield(nil, err)
				return
			}
			for i := range b.Events {
				b.Events[i].Pos = b.Pos
				line, err := spec.JSON(&b.Events[i])
				if !yield(line, err) || err != nil {
					return
				}
			}
		}
	}
}

// enter counts a reader of the log, whose context then also ends with the run's release.
func (r *Run) enter(ctx context.Context) (context.Context, func(), error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return nil, nil, fmt.Errorf("read the log of run %s: %w", r.id, ErrClosed)
	}
	r.readers++
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(r.ending, cancel)
	return ctx, func() {
		stop()
		cancel()
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.readers--; r.readers == 0 && r.closing {
			close(r.idle)
		}
	}, nil
}

// batches yields the log until the run has ended.
func (r *Run) batches(ctx context.Context) iter.Seq2[conductor.LogBatch, error] {
	log := conductor.Log{Bus: r.bus, Run: r.id}
	switch {
	case r.alone:
		return log.Read(ctx, 0)
	case r.held == nil:
		return untilEnd(ctx, log.Tail)
	}
	return func(yield func(conductor.LogBatch, error) bool) {
		tail, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(r.live, cancel)()
		pos := uint64(0)
		for b, err := range log.Tail(tail, 0) {
			if tail.Err() != nil {
				break
			}
			if !yield(b, err) || err != nil {
				return
			}
			pos = b.Pos
		}
		log.Read(ctx, pos)(yield)
	}
}

// untilEnd follows a log until endGrace behind the end of its run. An error, that of ctx too, ends the sequence.
func untilEnd(
	ctx context.Context, follow func(context.Context, uint64) iter.Seq2[conductor.LogBatch, error],
) iter.Seq2[conductor.LogBatch, error] {
	return func(yield func(conductor.LogBatch, error) bool) {
		tail, cancel := context.WithCancel(ctx)
		defer cancel()
		grace := time.AfterFunc(endGrace, cancel)
		grace.Stop()
		defer grace.Stop()
		over := false
		for b, err := range follow(tail, 0) {
			grace.Stop()
			if tail.Err() != nil {
				break
			}
			if !yield(b, err) || err != nil {
				return
			}
			if over = ended(b.Events, over); over {
				grace.Reset(endGrace)
			}
		}
		if ctx.Err() != nil {
			yield(conductor.LogBatch{}, ctx.Err())
		}
	}
}

// ended reports whether the newest state of a run is an end; over is whether it was before these events.
func ended(events []contextscope.Event, over bool) bool {
	for i := range events {
		var d run.Data
		if events[i].Kind == contextscope.KindRun && json.Unmarshal(events[i].Data, &d) == nil && d.State != "" {
			over = d.State.Ended()
		}
	}
	return over
}

// Send sends a message to the agent of a task, or to the master where no task is named, and returns what becomes of it. A run
// that no process carries out gets it when it is resumed.
func (r *Run) Send(ctx context.Context, task, text string) (string, error) {
	return r.ask(ctx, conductor.Request{Verb: conductor.VerbSend, Task: task, Text: text})
}

// Pause stops the run once its agents have finished their turns.
func (r *Run) Pause(ctx context.Context) (string, error) {
	if r.alone {
		return "", usage.Errorf("run %s is not running: there is nothing to pause", r.id)
	}
	return r.ask(ctx, conductor.Request{Verb: conductor.VerbPause})
}

// Cancel ends the run, or one task of it, for good.
func (r *Run) Cancel(ctx context.Context, task, reason string) (string, error) {
	return r.ask(ctx, conductor.Request{Verb: conductor.VerbCancel, Task: task, Text: reason})
}

// ask puts a request to the conductor of the run. Where no process carries it out, this one is its conductor for a moment.
func (r *Run) ask(ctx context.Context, q conductor.Request) (string, error) {
	if !r.alone {
		return r.askHolder(ctx, q)
	}
	r.asking.Lock()
	defer r.asking.Unlock()
	c, err := r.conductor(ctx, nil)
	if err != nil {
		return "", err
	}
	return asMistake(c.Do(ctx, q))
}

func (r *Run) conductor(
	ctx context.Context, publish func(ctx context.Context, commit, base, had string) (string, error),
) (*conductor.Conductor, error) {
	c, err := conductor.New(ctx, conductor.Config{
		Run: r.id, Bus: r.bus, Clock: now, NewID: newID, Log: r.dir.Log, Publish: publish,
	})
	if err != nil {
		return nil, err
	}
	return c, r.dir.Check(c.State(), r.id)
}

// askHolder asks the process that holds the run. One that does not listen has come to the run's end, or begins just now.
func (r *Run) askHolder(ctx context.Context, q conductor.Request) (string, error) {
	becomes, err := asMistake(conductor.Ask(ctx, r.bus, r.id, q))
	if !errors.Is(err, bus.ErrNoListener) {
		return becomes, err
	}
	st, ferr := conductor.Fold(ctx, r.bus, r.id)
	switch {
	case ferr != nil:
		return "", errors.Join(err, ferr)
	case st.Status.Ended():
		return "", usage.Errorf("run %s is over: %s; see: divisi show %s", r.id, st.Status, r.id)
	}
	return "", usage.Errorf("run %s is not accepting requests yet: try again in a moment", r.id)
}

// asMistake makes what cannot be done a mistake of the caller.
func asMistake(text string, err error) (string, error) {
	var no *request.RefusedError
	if errors.As(err, &no) {
		return "", usage.Errorf("%s", no.Reason)
	}
	return text, err
}

// Publish puts what has landed in a run that was stopped or cancelled into the repository, as its branch. Attach to it first.
func (r *Run) Publish(ctx context.Context) (Result, error) {
	if !r.alone {
		return Result{}, usage.Errorf("run %s is active: it publishes what landed at its end; stop it with: divisi pause %s",
			r.id, r.id)
	}
	r.asking.Lock()
	defer r.asking.Unlock()
	h := &holder{dir: r.dir, log: r.dir.Log, path: r.dir.Run(r.id)}
	c, err := r.conductor(ctx, h.publish)
	if err != nil {
		return Result{}, err
	}
	h.spec = c.State().Spec
	if h.git, err = git.New(ctx); err != nil {
		return Result{}, err
	}
	m, err := store.ReadMeta(h.path)
	if err == nil {
		err = h.openRepositories(ctx, "", m)
	}
	if err != nil {
		return Result{}, err
	}
	ref, err := asMistake(c.PublishLanded(ctx))
	if err != nil {
		return Result{}, err
	}
	result := resultOf(c.State())
	result.Ref = ref
	return result, nil
}

func resultOf(st *run.State) Result {
	return Result{
		State: string(st.Status), Reason: st.Reason, Repo: st.Spec.Repo, Ref: st.Ref, Base: st.Spec.Base, Head: st.Head,
		Unverified: acceptance.Unverified(st),
	}
}

// Wait waits until the run has ended. Then it releases everything that the run and its events need in this process; readers of
// Events have 1.5 s to come to the end. The error is nil for every end that the log has, but for a run that may not go on
// without proof; it is set when the machine or a service failed, and Resume goes on then. A run that no process carries out is
// returned as it stands. When ctx ends first, Wait returns its error, releases nothing, and the run goes on; where the ctx of
// Start has ended too, Wait waits for the orderly end. After Wait the other methods fail.
func (r *Run) Wait(ctx context.Context) (Result, error) {
	if r.held == nil {
		return r.watched(ctx)
	}
	if r.live.Err() != nil { // whatever has become of ctx
		ctx = r.live
	}
	select {
	case <-r.live.Done():
	case <-ctx.Done():
		if r.live.Err() == nil && r.started() == nil {
			return Result{}, ctx.Err()
		}
		<-r.live.Done()
	}
	r.close()
	result := resultOf(r.st)
	result.Repo, result.Proposals, result.Notices = r.held.checkout.Top, r.held.proposed, r.held.tape.notices()
	if errors.Is(r.err, acceptance.ErrUnverified) {
		return result, unverifiedError(r.st)
	}
	return result, r.err
}

// watched follows the log of a run that this process does not carry out.
func (r *Run) watched(ctx context.Context) (Result, error) {
	ctx, leave, err := r.enter(ctx)
	if err != nil {
		return Result{}, err
	}
	st := run.NewState()
	err = func() error {
		defer leave()
		for b, err := range r.batches(ctx) {
			if err != nil {
				return err
			}
			for i := range b.Events {
				b.Events[i].Pos = b.Pos
				if err := st.Apply(&b.Events[i]); err != nil {
					return err
				}
			}
		}
		return r.dir.Check(st, r.id)
	}()
	if err == nil {
		r.close()
	}
	return resultOf(st), err
}

// Close releases the run. A run that this process carries out is stopped in order first, and waited for.
func (r *Run) Close() error {
	if r.held != nil {
		r.stop()
		_, err := r.Wait(context.Background())
		return err
	}
	r.close()
	return nil
}

// close ends the connection to the log, when its readers have come to the end or readGrace is over.
func (r *Run) close() {
	r.release.Do(func() {
		r.mu.Lock()
		if r.closing = true; r.readers == 0 {
			close(r.idle)
		}
		r.mu.Unlock()
		if r.held == nil {
			r.end()
		}
		grace := time.NewTimer(readGrace)
		defer grace.Stop()
		select {
		case <-r.idle:
		case <-grace.C:
		}
		r.end()
		if r.held != nil {
			r.held.release()
			return
		}
		r.dir.Close(r.bus)
	})
}
