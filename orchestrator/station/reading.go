package station

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"divisi/bus"
	"divisi/orchestrator/call"
	"divisi/subagents/wire"
	"divisi/subagents/worker"
)

// lookAgain is after how long who waits for a message of the log asks for it again: it may not have heard that it is there.
const lookAgain = wire.PresentFor

// Reading is the log of a run for a worker elsewhere, which appends to it and does not read it: the conductor shows what there is
// for an attempt, and without one the setups of the run.
type Reading struct {
	W       *Work
	task    string
	attempt int
}

var _ worker.Log = Reading{}

// AppendFiltered implements journal.Log. Where the answer was lost, the log tells.
func (r Reading) AppendFiltered(ctx context.Context, subject, filter string, data []byte, last uint64) (uint64, error) {
	pos, err := r.W.Bus.AppendFiltered(ctx, subject, filter, data, last)
	if errors.Is(err, bus.ErrUnsettled) {
		return r.Settle(ctx, subject, filter, data, last)
	}
	return pos, err
}

// Settle finds whether a message was stored behind the last one. It has ids in it: no other one is the same.
func (r Reading) Settle(ctx context.Context, subject, filter string, data []byte, last uint64) (uint64, error) {
	for m, err := range r.Read(ctx, filter, last+1) {
		switch {
		case err != nil:
			return 0, err
		case m.Subject == subject && bytes.Equal(m.Data, data):
			return m.Pos, nil
		}
		break
	}
	return 0, fmt.Errorf("append to %s after %d: %w", subject, last, bus.ErrFenced)
}

// Read implements journal.Log. It waits for a conductor.
func (r Reading) Read(ctx context.Context, filter string, from uint64) iter.Seq2[bus.Message, error] {
	return func(yield func(bus.Message, error) bool) {
		if _, on, err := r.pages(ctx, filter, from, yield); on && err != nil {
			yield(bus.Message{}, err)
		}
	}
}

// Tail implements worker.Answers.
func (r Reading) Tail(ctx context.Context, filter string, from uint64) iter.Seq2[bus.Message, error] {
	return func(yield func(bus.Message, error) bool) {
		woken := make(chan struct{}, 1)
		deaf, err := r.W.Bus.Subscribe(ctx, bus.ControlSubject(r.W.Run), func(m bus.Message, _ func([]byte) error) {
			if r.concerns(m.Data) {
				select {
				case woken <- struct{}{}:
				default:
				}
			}
		})
		if err != nil { // the server is away: it looks again now and then
			r.W.Log.Debug().Err(err).Str("filter", filter).Msg("a reader is not woken")
		} else {
			defer deaf()
		}
		for {
			var on bool
			back := r.W.Bus.Back()
			if from, on, err = r.pages(ctx, filter, from, yield); !on || ctx.Err() != nil {
				return
			}
			if err != nil {
				yield(bus.Message{}, err)
				return
			}
			look := r.W.look
			if r.task != "" {
				look = nil // that is for who follows the setups
			}
			select {
			case <-woken:
			case <-look:
			case <-back:
			case <-time.After(lookAgain):
			case <-ctx.Done():
				return
			}
		}
	}
}

// concerns reports whether a control message reports that there is more to read.
func (r Reading) concerns(data []byte) bool {
	var c wire.Control
	return json.Unmarshal(data, &c) == nil && c.Verb == wire.ControlRead && c.Concerns(r.task, r.attempt)
}

// pages yields what there is by now, and returns from where on there may be more. It is not on once no more is wanted.
func (r Reading) pages(
	ctx context.Context, filter string, from uint64, yield func(bus.Message, error) bool,
) (next uint64, on bool, err error) {
	q := wire.Reading{Filter: filter, From: from, Task: r.task, Attempt: r.attempt}
	var begun []byte // of a message that continues in the next page
	for more := true; more; {
		p, err := r.page(ctx, q)
		if err != nil {
			return q.From, true, fmt.Errorf("read %s: %w", filter, err)
		}
		for i, m := range p.Messages {
			data := append(begun, m.Data...)
			if begun = nil; p.Skip > 0 && i == len(p.Messages)-1 {
				begun = data
			} else if !yield(bus.Message{Subject: m.Subject, Pos: m.Pos, Time: m.Time, Data: data}, nil) {
				return 0, false, nil
			}
		}
		q.From, q.Skip, more = p.Next, p.Skip, p.More
	}
	return q.From, true, nil
}

// page asks the conductor, and again where that is gone, or fails: another one may conduct the run then.
func (r Reading) page(ctx context.Context, q wire.Reading) (wire.Page, error) {
	for {
		p, err := call.Ask(ctx, r.W.line(), call.ConductorRead, call.Head{At: call.At{Task: q.Task, Attempt: q.Attempt}}, q)
		var called *call.Error
		away := errors.As(err, &called) || errors.Is(err, bus.ErrNoListener) || errors.Is(err, context.DeadlineExceeded)
		switch {
		case err == nil:
			return p, nil
		case called != nil && called.Class == call.Refused:
			return wire.Page{}, fmt.Errorf("%w: %w", wire.ErrWithheld, err)
		case ctx.Err() != nil:
			return wire.Page{}, context.Cause(ctx)
		case !away:
			return wire.Page{}, err
		}
		select {
		case <-time.After(enlistRetry):
		case <-ctx.Done():
			return wire.Page{}, context.Cause(ctx)
		}
	}
}
