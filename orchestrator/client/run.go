// Package client reads runs and acts on them, wherever they are. Its input is a state directory or a server, and the id of a run;
// its output are the events of the run, its end, its views and the outcome of acts. It asks the process that conducts the run,
// over the bus; where there is none it reads the log as it stands. It conducts no run and executes no task.
package client

import (
	"context"
	"sync"
	"time"

	"divisi/bus"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
	"divisi/orchestrator/view/advice"
	"divisi/subagents/wire"
)

const (
	// endGrace is how long Events waits behind the end of a run of another process: one that was stopped may be resumed.
	endGrace = 300 * time.Millisecond
	// readGrace is how long Wait waits for those who still read the events of a run that has ended.
	readGrace = 1500 * time.Millisecond
)

// Run is a run that this process executes, or that it is attached to. Its methods may be called from many goroutines.
type Run struct {
	inside
	records

	// closing is closed when nothing more is read, idle when the last reader has left after that.
	mu      sync.Mutex
	readers int
	closing bool
	idle    chan struct{}
	ending  context.Context //nolint:containedctx // it ends what reads the log
	end     context.CancelFunc
	ended   sync.Once
}

// inside is the knowledge of the rooms behind the façade about a run. An embedding program does not see it.
type inside struct {
	Name string
	Dir  store.Dir
	// At is how it is reached.
	At Access
	// Sent is set for one that was submitted to a host: it keeps the roles and settings of that moment.
	Sent bool
	// Since is where its log ended when this process took it, or had a host take it; 0 for a new run.
	Since uint64
	// Warrant is of who answers for it, where this process carries it out.
	Warrant *wire.Warrant
	// By is the person who asks, where that is another than the account of this process; From is the name that the server of the
	// run vouches for.
	By, From string
}

func newRun(id string, dir store.Dir, at Access) *Run {
	r := &Run{inside: inside{Name: id, Dir: dir, At: at}, idle: make(chan struct{})}
	r.records = files{r}
	r.ending, r.end = context.WithCancel(context.Background())
	return r
}

// AttachedTo is a run that another process executes, whose log is open. Wait and Close close it.
func AttachedTo(id string, dir store.Dir, b *bus.Bus) *Run {
	return newRun(id, dir, &attached{eventlog.Log{Bus: b, Run: id}, dir})
}

// AtRest is a run that no process executes, whose log is open. Wait and Close close it.
func AtRest(id string, dir store.Dir, b *bus.Bus) *Run {
	return newRun(id, dir, &Rest{
		attached: attached{eventlog.Log{Bus: b, Run: id}, dir},
		Free:     func() error { return nil }, Asked: func(*act.Request, error) {},
	})
}

// Attach connects to a run of a state directory: to the process that carries it out, else to its log.
func Attach(ctx context.Context, dir store.Dir, id string) (*Run, error) {
	if !bus.ValidToken(id) {
		return nil, usage.Errorf("%q is no run's id", id)
	}
	b, notRunning, err := dir.Open(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case notRunning:
		return AtRest(id, dir, b), nil
	}
	return AttachedTo(id, dir, b), nil
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
		Unverified: proof.UnverifiedLanded(&st.Agenda, &st.Branch), Next: advice.Next(st),
	}
}

// Mirrored says in a result what of a run is not proven whose log cannot be read.
func Mirrored(r *Result, st *run.State) { r.Unverified = proof.UnverifiedIn(&st.Tasks, &st.Batches) }

// Wait waits until the run has ended. Then it releases everything that the run and its events need in this process; readers of
// Events have 1.5 s to come to the end. The error is nil for every end that the log has, but for a run that may not continue
// without proof; it is set when the machine or a service failed, and Resume continues then. A run that no process executes is
// returned as it stands. When ctx ends first, Wait returns its error, releases nothing, and the run continues; where the ctx of
// Start has ended too, Wait waits for the orderly end. After Wait the other methods fail.
func (r *Run) Wait(ctx context.Context) (Result, error) { return r.At.wait(ctx, r) }

// Close releases the run. A run that this process executes is stopped in order first, and waited for.
func (r *Run) Close() error { return r.At.close(r) }

// finish releases the run, when the readers of its log have come to the end or readGrace is over.
func (r *Run) finish() {
	r.ended.Do(func() {
		r.mu.Lock()
		if r.closing = true; r.readers == 0 {
			close(r.idle)
		}
		r.mu.Unlock()
		grace := time.NewTimer(readGrace)
		defer grace.Stop()
		select {
		case <-r.idle:
		case <-grace.C:
		}
		r.end()
		r.At.release()
		r.close()
	})
}
