// Package host conducts the runs that other machines submit to a server, one host at a time. Its input is the directory of its
// runs, and a server; its output are the runs, conducted, and answers to clients that ask about them. Who stands by takes over
// when the lease of the host ends. It has no checkout of the repositories, and executes no task.
package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/bus/member"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/audit"
	"divisi/orchestrator/call"
	"divisi/orchestrator/client"
	"divisi/orchestrator/conduct"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/fault"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
	"divisi/subagents/wire"
)

// Options describe a host.
type Options struct {
	StateDir string       // has the runs that it conducts
	Server   depot.Server // where runs are submitted, and where they meet their workers
	Strict   bool         // conduct only where commands can be fully confined
	Commands bool         // this machine takes tasks too, and runs the commands of shard rules
	// Keep is how long a run that has ended stays after it began; one whose branch no person has published stays for good. 0
	// keeps all.
	Keep time.Duration
	// Notice is called with what a person should read at once about a run; "" for the host itself. It may be nil.
	Notice func(run, text string)

	Audit *audit.Log
	// Revoke admits a worker to the server no more, and reports whether it was a member; nil where the server is another process.
	Revoke    func(worker string) (bool, error)
	Members   *member.Registry // those of a server that vouches for the names of who asks; nil for one that does not
	leaseTime time.Duration    // 0 for the usual
}

// Host conducts the runs that are submitted on a server, without a checkout of their repositories. Workers carry their tasks out,
// see Work. What goes wrong with one run ends no other. One host at a time has the lease of the server; the others stand by, and
// one of them continues the runs when it is gone.
type Host struct {
	o     Options
	Dir   store.Dir
	bus   *bus.Bus
	lease *bus.Lease
	free  func() error            // gives the directory up
	life  context.CancelCauseFunc // ends the host
	deaf  func()                  // stops listening; nil while it stands by
	pace  call.Pace               // how often it is asked
	loop  sync.WaitGroup          // waits for the lease, and keeps it
	// failed gets why the host conducts no more, for good.
	failed chan error
	// under are the runs that are conducted; mu guards runs, which has them by id, and noted, which are those that the next host
	// is to know of.
	under sync.WaitGroup
	mu    sync.Mutex
	runs  map[string]*hosted
	noted map[string]Known
	// secret is that of the redactors through which viewers read logs.
	secret []byte
}

// hosted is a run that is conducted. err is why it could not begin, once begun is closed.
type hosted struct {
	id    string
	begun chan struct{}
	err   error
	// stop ends it, and warrant is who signed it; Host.mu guards them. nil for one that has not begun, and that no person signed.
	stop    context.CancelCauseFunc
	warrant *wire.Warrant
}

// NewHost returns a host that does nothing yet.
func NewHost(o Options) (*Host, error) {
	dir, err := filepath.Abs(o.StateDir)
	switch {
	case err != nil || o.StateDir == "":
		return nil, usage.Errorf("StateDir %q cannot hold runs: name a directory", o.StateDir)
	case o.Server.URL == "":
		return nil, usage.Errorf("a host needs the URL of a server")
	}
	if o.StateDir = dir; o.Notice == nil {
		o.Notice = func(string, string) {}
	}
	return &Host{
		o: o, runs: map[string]*hosted{}, noted: map[string]Known{}, secret: []byte(rand.Text()), failed: make(chan error, 1),
	}, nil
}

// Start has the host listen for runs, and go on with those of the state directory, and of the host before it, that have not ended
// or that a host was stopped in. Where another host has the lease, this one stands by. It works until Stop.
func (h *Host) Start(ctx context.Context) (err error) {
	h.Dir = store.Dir{Path: h.o.StateDir, Log: *zerolog.Ctx(ctx)}
	if err := os.MkdirAll(h.Dir.Runs(), 0o700); err != nil {
		return fmt.Errorf("make the directory of runs: %w", err)
	}
	holder, free, err := identify(h.o.StateDir)
	if err != nil {
		return err
	}
	at, err := client.Reach(ctx, h.o.Server)
	if err != nil {
		return errors.Join(err, free())
	}
	h.bus, h.free, h.lease = at.Bus, free, at.Bus.NewLease(LeaseName, holder, h.o.leaseTime)
	begun := make(chan error, 1)
	waited := ctx
	ctx, h.life = context.WithCancelCause(context.WithoutCancel(ctx))
	h.loop.Go(func() { h.serve(ctx, begun) })
	select {
	case err = <-begun:
	case <-waited.Done():
		err = context.Cause(waited)
	}
	if err != nil {
		h.Stop()
	}
	return err
}

// listen answers calls, those that only read, and those of viewers, until stop.
func (h *Host) listen(
	ctx context.Context, answer func(context.Context, bus.Message) ([]byte, error),
) (stop func(), err error) {
	var stops depot.Closers
	for _, subject := range []func(who string) string{client.ServeSubject, client.ReadSubject, client.ViewSubject} {
		stop, err := call.Listen(ctx, h.bus, subject("*"), h.Dir.Log, answer)
		if err != nil {
			stops.Release()
			return nil, err
		}
		stops.Later(stop)
	}
	return stops.Release, nil
}

// Failed gets why the host does not conduct any more although it was not stopped: another process has its identity.
func (h *Host) Failed() <-chan error { return h.failed }

// Stop ends what Start has begun: the runs are stopped in order and waited for, and the next host continues with them.
func (h *Host) Stop() {
	h.life(conductor.ErrHostStops)
	h.loop.Wait()
	h.Dir.Close(h.bus)
	if err := h.free(); err != nil {
		h.Dir.Log.Warn().Err(err).Msg("the directory of the host stays locked until this process ends")
	}
}

// unfinished lists the runs to continue with, the oldest first, and notes those that the next host is to know of. Their server is
// this host's now.
func (h *Host) unfinished(ctx context.Context) (open []string, err error) {
	ids, err := h.Dir.IDs()
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Backward(ids) {
		m, err := store.ReadMeta(h.Dir.Run(id))
		if err != nil || m.Order == "" {
			continue // it was not submitted, or was killed before it was accepted
		}
		if h.gone(ctx, id, m.Order) {
			h.unnote(id) // the directory stays: where the store of the server is lost it is all that is left of a branch
			continue
		}
		if at := store.Server(h.o.Server); m.Server() != at {
			m.NATS, m.Login = at.URL, at.Login
			if err := m.Write(h.Dir.Run(id)); err != nil {
				h.o.Notice(id, fmt.Sprintf("the run does not continue: %v", err))
				continue
			}
		}
		goesOn := h.goesOn(ctx, id)
		if goesOn {
			open = append(open, id)
		}
		h.note(Known{Run: id, Order: m.Order, Ended: !goesOn, Fetched: m.Fetched})
	}
	return open, nil
}

// goesOn reports whether a run has not ended, or was stopped with its host. One whose log cannot be read is tried, so that a
// person is told.
func (h *Host) goesOn(ctx context.Context, id string) bool {
	var status run.Status
	var reason string
	if r, kept := h.Dir.Summary(id); kept {
		status, reason = r.State, r.Reason
	} else if st, _, err := h.Dir.State(ctx, id); err == nil {
		status, reason = st.Status, st.Reason
	}
	return !status.Ended() || status == run.Stopped && reason == conductor.ErrHostStops.Error()
}

// begin begins a run, or goes on with it, and conducts it beside the others until it ends. mine is its place among the runs. What
// a fresh one that cannot begin leaves is removed.
func (h *Host) begin(ctx context.Context, mine *hosted, fresh bool, o conduct.ResumeOptions) error {
	o.Run, o.Machine = mine.id, conduct.Machine{
		StateDir: h.o.StateDir, Strict: h.o.Strict, Elsewhere: true, Approve: conduct.Waits,
		Notice: func(text, _ string) { h.o.Notice(mine.id, text) },
	}
	from := conduct.Hosting{
		Held: h.lease.Held, Admits: h.names().admits, Caller: h.names().by, RunsCommands: h.o.Commands,
		Asked: func(by string, q *act.Request, err error) { h.runAsked(mine.id, by, q, err) },
	}
	var r *client.Run
	conducting, stop := context.WithCancelCause(ctx) // the run's alone: it may be begun again behind it
	err := call.Guarded("begin run "+mine.id, func() (err error) {
		r, err = conduct.ResumeHosted(conducting, &o, from)
		return err
	})
	if err != nil {
		stop(nil)
		if fresh {
			err = errors.Join(err, h.undo(ctx, mine.id))
		}
		return h.settle(ctx, mine, err)
	}
	h.note(Known{Run: mine.id, Order: h.orderOf(mine.id)})
	h.signed(mine, r.Warrant, stop)
	close(mine.begun)
	h.under.Go(func() {
		defer stop(nil)
		err := call.Guarded("conduct run "+mine.id, func() error {
			_, err := r.Wait(context.WithoutCancel(ctx))
			return err
		})
		h.drop(ctx, mine)
		switch {
		case err == nil || h.lease.Held() != nil: // then another host continues with it
		case errors.Is(err, conductor.ErrDeposed): // what the host before still wrote came first
			h.again(ctx, mine.id)
		case errors.Is(err, bus.ErrFull), errors.Is(err, bus.ErrUnavailable):
			h.o.Notice(mine.id, err.Error())
			select {
			case <-time.After(againPause):
				h.again(ctx, mine.id)
			case <-ctx.Done():
			}
		default:
			h.Dir.Log.Error().Err(err).Bytes("stack", call.StackOf(err)).Str("run", mine.id).Msg("a run has failed")
			h.o.Notice(mine.id, err.Error())
		}
	})
	return nil
}

// again continues a run that has lost its place, unless another call has done so.
func (h *Host) again(ctx context.Context, id string) {
	if mine, taken := h.place(id); !taken {
		h.keepRunning(ctx, mine)
	}
}

// keepRunning starts a placed run, and restarts it until it runs or fails for good.
func (h *Host) keepRunning(ctx context.Context, mine *hosted) {
	for told, taken := false, false; !taken; mine, taken = h.place(mine.id) {
		err := h.begin(ctx, mine, false, conduct.ResumeOptions{})
		if err == nil || ctx.Err() != nil {
			return
		}
		if !told {
			h.o.Notice(mine.id, fmt.Sprintf("the run does not continue: %v", err))
		}
		if told = true; fault.IsUsage(err) || !h.goesOn(ctx, mine.id) {
			return
		}
		select {
		case <-time.After(againPause):
		case <-ctx.Done():
			return
		}
	}
}

// orderOf is the order of a run, as its description has it.
func (h *Host) orderOf(id string) string {
	m, err := store.ReadMeta(h.Dir.Run(id))
	if err != nil {
		h.Dir.Log.Warn().Err(err).Str("run", id).Msg("the next host will not know of the run")
	}
	return m.Order
}

// undo removes what a run without events has here and on the server.
func (h *Host) undo(ctx context.Context, id string) error {
	ctx = context.WithoutCancel(ctx)
	st, err := eventlog.Fold(ctx, h.bus, id)
	if err == nil && st.Spec.Run == "" && len(st.Unread) == 0 && h.lease.Held() == nil { // else another host may begin it
		_, err = h.bus.Forget(ctx, id)
	}
	h.unnote(id)
	return errors.Join(err, os.RemoveAll(h.Dir.Run(id)))
}

// settle gives up the place of a run that is not conducted, and tells those who wait for it why.
func (h *Host) settle(ctx context.Context, mine *hosted, err error) error {
	mine.err = err
	h.drop(ctx, mine)
	close(mine.begun)
	return err
}

// drop gives up the place of a run, and notes whether it has ended.
func (h *Host) drop(ctx context.Context, mine *hosted) {
	ended := !h.goesOn(context.WithoutCancel(ctx), mine.id)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.runs, mine.id)
	if k, ok := h.noted[mine.id]; ok && ended {
		k.Ended = true
		h.noted[mine.id] = k
	}
}

// place takes the place of a run among those that are conducted; taken reports that it has one already.
func (h *Host) place(id string) (place *hosted, taken bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if have := h.runs[id]; have != nil {
		return have, true
	}
	h.runs[id] = &hosted{id: id, begun: make(chan struct{})}
	return h.runs[id], false
}

// Active reports whether a run is conducted.
func (h *Host) Active(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runs[id] != nil
}
