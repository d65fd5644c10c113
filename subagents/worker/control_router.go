package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/subagents/agent"
	"divisi/subagents/journal"
	"divisi/subagents/wire"

	"github.com/rs/zerolog"
)

// Listener is the part of the bus that brings messages to agents.
type Listener interface {
	// Subscribe calls handle for each message to subject until stop is called; stop waits for a running handle.
	Subscribe(ctx context.Context, subject string, handle func(m bus.Message, reply func([]byte) error)) (stop func(), err error)
}

// controlRouter hands a run's control messages to the inboxes of the attempts that they concern. It listens to a run while
// an attempt of it is at work here.
type controlRouter struct {
	listener Listener
	log      zerolog.Logger

	mu   sync.Mutex
	runs map[string]*runSubscription
}

// runSubscription is the attempts of one run at work here. ready is closed when err and stop are set.
type runSubscription struct {
	inboxes map[*agent.Inbox]address
	ready   chan struct{}
	stop    func()
	err     error
}

type address struct {
	task    string
	attempt int
}

func newControlRouter(l Listener, log zerolog.Logger) *controlRouter {
	return &controlRouter{listener: l, log: log, runs: map[string]*runSubscription{}}
}

// open has an attempt's messages put into its inbox until leave is called.
func (d *controlRouter) open(
	ctx context.Context, log journal.Reader, a *wire.Assignment, in *agent.Inbox,
) (leave func(), err error) {
	d.mu.Lock()
	l, ok := d.runs[a.Run]
	if !ok {
		l = &runSubscription{inboxes: map[*agent.Inbox]address{}, ready: make(chan struct{})}
		d.runs[a.Run] = l
	}
	l.inboxes[in] = address{a.Task.ID, a.Attempt}
	d.mu.Unlock()
	if !ok {
		l.stop, l.err = d.listener.Subscribe(ctx, bus.ControlSubject(a.Run), func(m bus.Message, _ func([]byte) error) {
			d.hand(l, m.Data)
		})
		close(l.ready)
	}
	<-l.ready
	if l.err != nil {
		d.leave(a.Run, l, in)
		return nil, fmt.Errorf("listen for messages to %s: %w", a.Agent(), l.err)
	}
	if err := remember(ctx, log, a, in); err != nil {
		d.leave(a.Run, l, in)
		return nil, err
	}
	return func() { d.leave(a.Run, l, in) }, nil
}

// remember puts the messages that the task was sent so far into an inbox. It comes after the subscription, so that none falls
// between them; one that is in both counts once.
func remember(ctx context.Context, log journal.Reader, a *wire.Assignment, in *agent.Inbox) error {
	for m, err := range log.Read(ctx, bus.ConductorSubject(a.Run, string(contextscope.KindUser)), a.From+1) {
		if err != nil {
			return fmt.Errorf("read the messages to %s: %w", a.Agent(), err)
		}
		for _, e := range wire.DecodeEvents(m) {
			if e.Kind == contextscope.KindUser && e.Task == a.Task.ID {
				in.Put(wire.MessageOf(&e))
			}
		}
	}
	return nil
}

func (d *controlRouter) leave(run string, l *runSubscription, in *agent.Inbox) {
	d.mu.Lock()
	delete(l.inboxes, in)
	last := len(l.inboxes) == 0
	if last && d.runs[run] == l {
		delete(d.runs, run)
	}
	d.mu.Unlock()
	if last && l.stop != nil {
		l.stop()
	}
}

// stopAll has all attempts end at their next turn.
func (d *controlRouter) stopAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.runs {
		for in := range l.inboxes {
			in.Put(wire.Control{Verb: wire.ControlStop})
		}
	}
}

// hand puts a message into the inboxes that it concerns. Other messages are ignored.
func (d *controlRouter) hand(l *runSubscription, data []byte) {
	var c wire.Control
	if err := json.Unmarshal(data, &c); err != nil {
		d.log.Warn().Err(err).Msg("a control message could not be read")
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for in, at := range l.inboxes {
		if c.Concerns(at.task, at.attempt) {
			in.Put(c)
		}
	}
}
