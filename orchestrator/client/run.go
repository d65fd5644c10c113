// Package client is a run, and the runs of one place, for who asks about them or acts on them, wherever they are. Its input is
// a state directory or a server, and the id of a run; its output are the events of the run, its end, its views and the outcome
// of acts. It asks the process that conducts the run, over the bus; where there is none it reads the log as it stands. It
// conducts no run and carries out no task.
package client

import (
	"cmp"
	"context"
	"sync"
	"time"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
	"divisi/orchestrator/view"
	"divisi/subagents/wire"
)

const (
	// endGrace is how long Events waits behind the end of a run of another process: one that was stopped may be resumed.
	endGrace = 300 * time.Millisecond
	// readGrace is how long Wait waits for those who still read the events of a run that has ended.
	readGrace = 1500 * time.Millisecond
)

// Run is a run that this process carries out, or that it is attached to. Its methods may be called from many goroutines.
type Run struct {
	inside

	// closing is closed when nothing more is read, idle when the last reader has left after that.
	mu      sync.Mutex
	readers int
	closing bool
	idle    chan struct{}
	ending  context.Context //nolint:containedctx // it ends what reads the log
	end     context.CancelFunc
	release sync.Once
}

// inside is what the rooms behind the façade know of a run. An embedding program does not see it.
type inside struct {
	Name string
	Dir  store.Dir
	Bus  *bus.Bus
	// Held is nil for a run that this process is attached to; AtRest reports that then no process carries it out, and Taken is
	// its log once it was taken to append to it, nil before.
	Held   *Held
	AtRest bool
	Taken  *bus.Bus
	// Host is that of a run on another machine; nil for one of this.
	Host *Host
	// Served is the host of this process, where the run is one of its page; nil else.
	Served serving
	// Since is where its log ended when this process took it, or had a host take it; 0 for a new run.
	Since uint64
	// By is the person who asks, where that is another than the account of this process; From is the name that the server of the
	// run vouches for.
	By, From string
	// Trees reads commits for what a plan file has gained, where no process carries the run out.
	Trees func(commit, environment string) plan.Tree
	// Asking is held by who is the conductor of a run that no process carries out, and guards Taken.
	Asking sync.Mutex
}

// Held is a run that this process carries out, as the half hands it over that conducts it.
type Held struct {
	Live    context.Context //nolint:containedctx // it is the life of the run, which outlives Start
	Stop    func()          // ends it earlier
	Started func() error    // the error of the context that the run was started with
	Warrant *wire.Warrant   // of who answers for it
	// Release gives up what the run needs in this process, once Live has ended. Outcome is how it has ended then.
	Release func()
	Outcome func(context.Context) (Result, error)
}

// serving is a host in this process, which has its runs.
type serving interface {
	// Held is an error where another host may conduct the runs by now.
	Held() error
	// Put puts a request to a run that no process carries out.
	Put(ctx context.Context, r *Run, q act.Request) (outcome string, err error)
}

// NewRun is a run whose log is open already. Wait and Close close it.
func NewRun(id string, dir store.Dir, b *bus.Bus) *Run {
	r := &Run{inside: inside{Name: id, Dir: dir, Bus: b}, idle: make(chan struct{})}
	r.ending, r.end = context.WithCancel(context.Background())
	return r
}

// Attach connects to a run of a state directory: to the process that carries it out, else to its log.
func Attach(ctx context.Context, dir store.Dir, id string) (*Run, error) {
	if !bus.ValidToken(id) {
		return nil, usage.Errorf("%q is no run's id", id)
	}
	b, notRunning, err := dir.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	r := NewRun(id, dir, b)
	r.AtRest = notRunning
	return r, nil
}

// ID is the run's id.
func (r *Run) ID() string { return r.Name }

// Resumed is the position of the newest event when Resume or ResumeOn continued the run; 0 for a run that Start began, and for
// others.
func (r *Run) Resumed() uint64 { return r.Since }

// ResultOf is the result of a run as its log tells it.
func ResultOf(st *run.State) Result {
	return Result{
		State: string(st.Status), Ended: st.Status.Ended(), Reason: st.Reason, Repo: st.Spec.Repo, Ref: st.Ref,
		Base: st.Spec.Base, Head: st.Head,
		Unverified: proof.UnverifiedLanded(st), Next: view.Next(st),
	}
}

// Mirrored says in a result what of a run is not proven whose log cannot be read.
func Mirrored(r *Result, st *run.State) { r.Unverified = proof.UnverifiedIn(st) }

// Wait waits until the run has ended. Then it releases everything that the run and its events need in this process; readers of
// Events have 1.5 s to come to the end. The error is nil for every end that the log has, but for a run that may not go on
// without proof; it is set when the machine or a service failed, and Resume goes on then. A run that no process carries out is
// returned as it stands. When ctx ends first, Wait returns its error, releases nothing, and the run goes on; where the ctx of
// Start has ended too, Wait waits for the orderly end. After Wait the other methods fail.
func (r *Run) Wait(ctx context.Context) (Result, error) {
	if r.Held == nil {
		return r.watched(ctx)
	}
	live := r.Held.Live
	if live.Err() != nil { // whatever has become of ctx
		ctx = live
	}
	select {
	case <-live.Done():
	case <-ctx.Done():
		if live.Err() == nil && r.Held.Started() == nil {
			return Result{}, ctx.Err()
		}
		<-live.Done()
	}
	r.close()
	return r.Held.Outcome(ctx)
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
		return r.Dir.Check(st, r.Name)
	}()
	if err == nil {
		r.close()
	}
	result := ResultOf(st)
	if err == nil {
		result.Report, err = spec.JSON(view.Of(st))
	}
	return result, err
}

// Close releases the run. A run that this process carries out is stopped in order first, and waited for.
func (r *Run) Close() error {
	if r.Held != nil {
		r.Held.Stop()
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
		if r.Held == nil {
			r.end()
		}
		grace := time.NewTimer(readGrace)
		defer grace.Stop()
		select {
		case <-r.idle:
		case <-grace.C:
		}
		r.end()
		if r.Held != nil {
			r.Held.Release()
			return
		}
		r.Dir.Close(r.Bus)
		if r.Host != nil {
			r.Dir.Close(r.Host.Bus)
		}
		r.Asking.Lock()
		defer r.Asking.Unlock()
		if r.Taken != nil {
			r.Dir.Close(r.Taken)
		}
	})
}

// Newest returns the log to read: once this process has taken it, not as its files were when the run was attached.
func Newest(r *Run) *bus.Bus {
	r.Asking.Lock()
	defer r.Asking.Unlock()
	return cmp.Or(r.Taken, r.Bus)
}

// writable returns the log to append to. Where no process carries the run out this one takes it; asking is held then.
func (r *Run) writable(ctx context.Context) (*bus.Bus, error) {
	if !r.AtRest {
		return r.Bus, nil
	}
	if r.Taken != nil {
		return r.Taken, nil
	}
	if r.Served != nil {
		if err := r.Served.Held(); err != nil { // another host may go on with it
			return nil, err
		}
	}
	m, err := store.ReadMeta(r.Dir.Run(r.Name))
	if err != nil {
		return nil, err
	}
	r.Taken, err = r.Dir.Hold(ctx, r.Name, m.Server())
	return r.Taken, err
}
