package orchestrator

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
	id  string
	dir store.Dir
	bus *bus.Bus
	// held is nil for a run that this process is attached to; notRunning says that then no process carries it out, and taken is
	// its log once it was taken to append to it, nil before.
	held       *held
	notRunning bool
	taken      *bus.Bus
	// host is that of a run on another machine; nil for one of this.
	host *client
	// served is the host of this process, where the run is one of its page; nil else.
	served serving
	// resumed is where its log ended when this process took it, or had a host take it; 0 for a new run.
	resumed uint64
	// by is the person who asks, where that is another than the account of this process; from is the name that the server of the
	// run vouches for.
	by, from string
	// trees reads commits for what a plan file has gained, where no process carries the run out.
	trees func(commit, environment string) plan.Tree
	// asking is held by who is the conductor of a run that no process carries out, and guards taken.
	asking sync.Mutex
}

// held is a run that this process carries out, as the half hands it over that conducts it.
type held struct {
	live    context.Context //nolint:containedctx // it is the life of the run, which outlives Start
	stop    func()          // ends it earlier
	started func() error    // the error of the context that the run was started with
	warrant *wire.Warrant   // of who answers for it
	// release gives up what the run needs in this process, once live has ended. result is how it has ended then.
	release func()
	result  func(context.Context) (Result, error)
}

// serving is a host in this process, which has its runs.
type serving interface {
	// held is an error where another host may conduct the runs by now.
	held() error
	// put puts a request to a run that no process carries out.
	put(ctx context.Context, r *Run, q act.Request) (outcome string, err error)
}

func newRun(id string, dir store.Dir, b *bus.Bus) *Run {
	r := &Run{inside: inside{id: id, dir: dir, bus: b}, idle: make(chan struct{})}
	r.ending, r.end = context.WithCancel(context.Background())
	return r
}

func attach(ctx context.Context, dir store.Dir, id string) (*Run, error) {
	if !bus.ValidToken(id) {
		return nil, usage.Errorf("%q is no run's id", id)
	}
	b, notRunning, err := dir.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	r := newRun(id, dir, b)
	r.notRunning = notRunning
	return r, nil
}

// ID is the run's id.
func (r *Run) ID() string { return r.id }

// Resumed is the position of the newest event when Resume or ResumeOn continued the run; 0 for a run that Start began, and for
// others.
func (r *Run) Resumed() uint64 { return r.resumed }

func resultOf(st *run.State) Result {
	return Result{
		State: string(st.Status), Ended: st.Status.Ended(), Reason: st.Reason, Repo: st.Spec.Repo, Ref: st.Ref,
		Base: st.Spec.Base, Head: st.Head,
		Unverified: proof.UnverifiedLanded(st), Next: waysOf(view.Next(st)),
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
	live := r.held.live
	if live.Err() != nil { // whatever has become of ctx
		ctx = live
	}
	select {
	case <-live.Done():
	case <-ctx.Done():
		if live.Err() == nil && r.held.started() == nil {
			return Result{}, ctx.Err()
		}
		<-live.Done()
	}
	r.close()
	return r.held.result(ctx)
}

// waysOf are the ways of a report.
func waysOf(ways []view.Way) []Way {
	out := make([]Way, len(ways))
	for i, w := range ways {
		out[i] = Way(w)
	}
	return out
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
	result := resultOf(st)
	if err == nil {
		result.Report, err = spec.JSON(view.Of(st))
	}
	return result, err
}

// Close releases the run. A run that this process carries out is stopped in order first, and waited for.
func (r *Run) Close() error {
	if r.held != nil {
		r.held.stop()
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
		if r.host != nil {
			r.dir.Close(r.host.bus)
		}
		r.asking.Lock()
		defer r.asking.Unlock()
		if r.taken != nil {
			r.dir.Close(r.taken)
		}
	})
}

// newest returns the log to read: once this process has taken it, not as its files were when the run was attached.
func newest(r *Run) *bus.Bus {
	r.asking.Lock()
	defer r.asking.Unlock()
	return cmp.Or(r.taken, r.bus)
}

// writable returns the log to append to. Where no process carries the run out this one takes it; asking is held then.
func (r *Run) writable(ctx context.Context) (*bus.Bus, error) {
	if !r.notRunning {
		return r.bus, nil
	}
	if r.taken != nil {
		return r.taken, nil
	}
	if r.served != nil {
		if err := r.served.held(); err != nil { // another host may go on with it
			return nil, err
		}
	}
	m, err := store.ReadMeta(r.dir.Run(r.id))
	if err != nil {
		return nil, err
	}
	r.taken, err = r.dir.Hold(ctx, r.id, m.Server())
	return r.taken, err
}
