package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/run"
)

// ErrClosed reports that Wait or Close has released the run before its events were read to the end.
var ErrClosed = errors.New("the run is released")

// Events yields the events of the run's log, each as docs/log.md has it, from the first on: those to come too, while a process
// carries the run out. An error ends the sequence; a log without the event that a run begins with is one.
func (r *Run) Events(ctx context.Context) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		ctx, leave, err := r.enter(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		defer leave()
		begin := run.NewState()
		for b, err := range r.At.events(ctx) {
			if err != nil {
				if r.ending.Err() != nil {
					err = fmt.Errorf("%w: %w", ErrClosed, err)
				}
				yield(nil, err)
				return
			}
			for i := range b.Events {
				b.Events[i].Pos = b.Pos
				if begin.Spec.Run == "" {
					_ = begin.Apply(&b.Events[i]) // what cannot be folded is shown all the same
				}
				line, err := spec.JSON(&b.Events[i])
				if !yield(line, err) || err != nil {
					return
				}
			}
		}
		if err := r.Dir.Check(begin, r.Name); err != nil {
			yield(nil, err)
		}
	}
}

// enter counts a reader of the log, whose context then also ends with the run's release.
func (r *Run) enter(ctx context.Context) (context.Context, func(), error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return nil, nil, fmt.Errorf("read the log of run %s: %w", r.Name, ErrClosed)
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

// untilEnd follows a log until endGrace behind the end of its run. An error, that of ctx too, ends the sequence.
func untilEnd(
	ctx context.Context, follow func(context.Context, uint64) iter.Seq2[eventlog.Batch, error],
) iter.Seq2[eventlog.Batch, error] {
	return func(yield func(eventlog.Batch, error) bool) {
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
			yield(eventlog.Batch{}, ctx.Err())
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
