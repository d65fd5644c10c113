package agent

import (
	"context"
	"sync"

	"divisi/subagents/limit"
	"divisi/subagents/wire"
)

// Inbox is where control messages wait for one running attempt. It is safe for concurrent use.
type Inbox struct {
	mu      sync.Mutex
	waiting []wire.Control
	// heard are the ids of the messages that came: each may come more than once.
	heard   map[string]bool
	stopped bool
	cancel  context.CancelCauseFunc
}

// NewInbox returns an empty inbox; cancel is called with the cause when the attempt is cancelled.
func NewInbox(cancel context.CancelCauseFunc) *Inbox {
	return &Inbox{cancel: cancel, heard: map[string]bool{}}
}

// Put takes a message in: a cancel works at once, a stop and a steering at the next turn boundary. Unknown verbs
// are ignored, so that a newer conductor can speak to an older worker.
func (i *Inbox) Put(c wire.Control) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch c.Verb {
	case wire.ControlCancel:
		i.cancel(&limit.CancelledError{Reason: c.Text})
	case wire.ControlStop:
		i.stopped = true
	case wire.ControlSteer:
		if c.ID == "" || !i.heard[c.ID] {
			i.heard[c.ID] = true
			i.waiting = append(i.waiting, c)
		}
	}
}

// Take returns the steering messages since the last call, oldest first.
func (i *Inbox) Take() []wire.Control {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := i.waiting
	i.waiting = nil
	return out
}

// Stopped reports whether the agent is to stop at its next boundary.
func (i *Inbox) Stopped() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.stopped
}
