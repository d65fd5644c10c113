// Package journal keeps the events of one attempt. Its input are events, appended under the attempt's fence, one message for
// each append, with large parts as objects; its output are the same events, read back as they were stored. It never
// interprets an event.
package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// Log is the part of the bus that keeps events.
type Log interface {
	// AppendFiltered stores data on subject if the newest message that filter matches is at last (0: there is none) and
	// returns the new message's position; otherwise the error is bus.ErrFenced.
	AppendFiltered(ctx context.Context, subject, filter string, data []byte, last uint64) (uint64, error)
	// Read yields the messages that filter matches from position from on, oldest first. An error is yielded once, last.
	Read(ctx context.Context, filter string, from uint64) iter.Seq2[bus.Message, error]
}

// Objects is the part of the bus that keeps blobs. Names are immutable: putting a name again with the same bytes is no error.
type Objects interface {
	Put(ctx context.Context, name string, data []byte) error
	Get(ctx context.Context, name string) ([]byte, error)
}

// Journal is the session of one attempt: its events, in order, on the subjects of the workers that had it, under the expected
// last sequence of all of them. The worker with the newest delivery alone can append; others get an error that is bus.ErrFenced.
// It is safe for concurrent use.
type Journal struct {
	log     Log
	objects Objects
	stamp   Stamp
	subject string
	filter  string
	base    contextscope.Event

	mu     sync.Mutex
	last   uint64
	seq    int
	events []contextscope.Event
	broken error
}

// Stamp gives events their worker, their time and their id. All fields are needed.
type Stamp struct {
	Worker string
	Clock  func() time.Time
	IDs    func() string
}

// Open reads what is there of the attempt. It writes nothing.
func Open(ctx context.Context, log Log, objects Objects, a *wire.Assignment, stamp Stamp) (*Journal, error) {
	j := &Journal{
		log: log, objects: objects, stamp: stamp,
		subject: bus.AttemptSubject(a.Run, stamp.Worker, a.Role.Name, a.Task.ID, a.Attempt),
		filter:  bus.AttemptFilter(a.Run, a.Role.Name, a.Task.ID, a.Attempt),
		base: contextscope.Event{
			V: contextscope.EventVersion, Run: a.Run, Task: a.Task.ID, Attempt: a.Attempt,
			Agent: a.Agent(), Role: a.Role.Name,
		},
	}
	events, last, err := ReadSession(ctx, log, j.filter)
	if err != nil {
		return nil, fmt.Errorf("open the journal of %s: %w", a.Agent(), err)
	}
	j.events, j.last, j.seq = events, last, newestSeq(events)
	return j, nil
}

// Reader is the part of a Log that sessions are read from.
type Reader interface {
	Read(ctx context.Context, filter string, from uint64) iter.Seq2[bus.Message, error]
}

// ReadSession returns the events of one attempt, which filter matches, and the position of its newest message. What a worker
// appended that did not have the attempt is left out.
func ReadSession(ctx context.Context, log Reader, filter string) ([]contextscope.Event, uint64, error) {
	var (
		events []contextscope.Event
		last   uint64
		owner  wire.Owner
	)
	for m, err := range log.Read(ctx, filter, 0) {
		if err != nil {
			return nil, 0, fmt.Errorf("read %s: %w", filter, err)
		}
		for _, e := range wire.DecodeEvents(m) {
			if owner.Admit(&e) != nil {
				continue
			}
			if e.Kind == contextscope.KindUnreadable && e.Seq == 0 {
				e.Seq = newestSeq(events) + 1
			}
			events = append(events, e)
		}
		last = m.Pos
	}
	return events, last, nil
}

// newestSeq is the newest event's number: its own, because one that could not be read may stand for several.
func newestSeq(events []contextscope.Event) int {
	if len(events) == 0 {
		return 0
	}
	return events[len(events)-1].Seq
}

// Append commits the events in one message: all of them or none. It fills in everything but Kind, Content, Data and, where it
// is not the agent itself, Author; the events that it returns are what a later reader sees, big parts replaced.
// After an error, which leaves open whether the message was stored, every later Append fails too: the attempt continues with its
// next delivery. Only after bus.ErrTooLarge, when nothing was stored, may smaller events be appended. A context that has ended
// is no such error: the append has appendGrace even then, because an attempt that ends has something to say.
func (j *Journal) Append(ctx context.Context, drafts ...contextscope.Event) ([]contextscope.Event, error) {
	ctx, cancel := linger(ctx)
	defer cancel()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken != nil {
		return nil, j.broken
	}
	whole, err := j.encode(ctx, j.fill(drafts))
	if err != nil {
		return nil, fmt.Errorf("append to %s: %w", j.base.Agent, err)
	}
	data, err := wire.Press(j.subject, whole)
	if err != nil {
		return nil, fmt.Errorf("append to %s: %w", j.base.Agent, err)
	}
	pos, err := j.log.AppendFiltered(ctx, j.subject, j.filter, data, j.last)
	if err != nil {
		if !errors.Is(err, bus.ErrTooLarge) {
			j.broken = err
		}
		return nil, fmt.Errorf("append to %s: %w", j.base.Agent, err)
	}
	// Numbers and lists of a tool are others when they come back: who continues must know what a later reader will.
	stored := wire.DecodeEvents(bus.Message{Subject: j.subject, Pos: pos, Data: whole})
	j.last, j.seq, j.events = pos, j.seq+len(stored), append(j.events, stored...)
	return stored, nil
}

// appendGrace is how long an append may continue when its attempt is already ending: what was paid for is to be kept.
const appendGrace = 3 * time.Second

// linger returns a context that ends appendGrace after its parent.
func linger(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	// A timer that is left behind cancels what is over already: it does no harm.
	stop := context.AfterFunc(parent, func() { time.AfterFunc(appendGrace, cancel) })
	return ctx, func() { stop(); cancel() }
}

func (j *Journal) fill(drafts []contextscope.Event) []contextscope.Event {
	now := j.stamp.Clock().UTC()
	out := make([]contextscope.Event, len(drafts))
	for i, d := range drafts {
		e := j.base
		e.Kind, e.Author, e.Content, e.Data = d.Kind, d.Author, d.Content, d.Data
		e.ID, e.Time, e.Seq = j.stamp.IDs(), now, j.seq+i+1
		if e.Author == "" {
			e.Author = j.base.Agent
		}
		out[i] = e
	}
	return out
}

// Objects returns the store of what is too large for an event.
func (j *Journal) Objects() Objects { return j.objects }

// Events returns the session so far. The caller must not change what the events point to.
func (j *Journal) Events() []contextscope.Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.events[:len(j.events):len(j.events)]
}

// Result returns the attempt's result, or nil when it has none yet.
func (j *Journal) Result() (*spec.Result, error) {
	for _, e := range j.Events() {
		if e.Kind != contextscope.KindResult {
			continue
		}
		var r spec.Result
		if err := json.Unmarshal(e.Data, &r); err != nil {
			return nil, fmt.Errorf("decode the result of %s: %w", e.Agent, err)
		}
		return &r, nil
	}
	return nil, nil
}

// Usage sums what the attempt's calls cost, over all its deliveries.
func (j *Journal) Usage() (spec.Usage, error) {
	var sum spec.Usage
	for _, e := range j.Events() {
		if e.Kind != contextscope.KindUsage {
			continue
		}
		var u spec.Usage
		if err := json.Unmarshal(e.Data, &u); err != nil {
			return sum, fmt.Errorf("decode usage event %s: %w", e.ID, err)
		}
		sum = sum.Add(u)
	}
	return sum, nil
}

// Lost counts the deliveries that began and neither stopped in order nor waited for the machine, by their events: that of a
// worker that is at it counts too.
func (j *Journal) Lost() int {
	lost := 0
	for _, e := range j.Events() {
		switch e.Kind {
		case contextscope.KindStarted:
			lost++
		case contextscope.KindControl:
			var n wire.Nudge
			if json.Unmarshal(e.Data, &n) == nil && (n.Reason == wire.ReasonStopped || n.Reason == wire.ReasonMachine) {
				lost--
			}
		}
	}
	return lost
}

// Deliveries returns the number of the newest delivery that was started, and how long all of them worked, by their events. From
// a request to the results of its turn an attempt waits. One that was left to a worker of another environment did no work.
func (j *Journal) Deliveries() (newest int, worked time.Duration, err error) {
	var began, seen time.Time
	waits := false
	for _, e := range j.Events() {
		switch e.Kind {
		case contextscope.KindStarted:
			var s wire.Started
			if err := json.Unmarshal(e.Data, &s); err != nil {
				return 0, 0, fmt.Errorf("decode started event %s: %w", e.ID, err)
			}
			// A delivery that takes a waiting attempt over continues waiting: its request is in the log already.
			newest, worked, began, seen = max(newest, s.Delivery), worked+max(0, seen.Sub(began)), e.Time, e.Time
		case contextscope.KindControl:
			var n wire.Nudge
			if json.Unmarshal(e.Data, &n) == nil && n.Reason == wire.ReasonStopped && n.Class == wire.FaultForeign {
				began, seen = e.Time, e.Time
			}
		case contextscope.KindTool:
			if waits {
				worked, began, waits = worked+max(0, seen.Sub(began)), e.Time, false
			}
		}
		if !waits {
			seen = e.Time
		}
		waits = waits || e.Kind == contextscope.KindRequest
	}
	return newest, worked + max(0, seen.Sub(began)), nil
}
