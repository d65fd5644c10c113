package client

import (
	"context"
	"iter"

	"divisi/bus"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/store"
	"divisi/subagents/wire"
)

// Held is a run that this process executes, as the half hands it over that conducts it.
type Held struct {
	attached

	Live    context.Context //nolint:containedctx // it is the life of the run, which outlives Start
	Stop    func()          // ends it earlier
	Started func() error    // the error of the context that the run was started with
	// Release gives up what the run needs in this process, once Live has ended. Outcome is how it has ended then.
	Release func()
	Outcome func(context.Context) (Result, error)
}

// Run is the run, whose log is open, and for which a person answers. It continued from a position; 0 for a new one.
func (h *Held) Run(id string, dir store.Dir, b *bus.Bus, since uint64, w *wire.Warrant) *Run {
	h.attached = attached{eventlog.Log{Bus: b, Run: id}, dir}
	r := newRun(id, dir, h)
	r.Since, r.Warrant = since, w
	return r
}

// events ends with the run, and not with what its end looks like in the log.
func (h *Held) events(ctx context.Context) iter.Seq2[eventlog.Batch, error] {
	return func(yield func(eventlog.Batch, error) bool) {
		tail, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(h.Live, cancel)()
		pos := uint64(0)
		for b, err := range h.log.Tail(tail, 0) {
			if tail.Err() != nil {
				break
			}
			if !yield(b, err) || err != nil {
				return
			}
			pos = b.Pos
		}
		h.log.Read(ctx, pos)(yield)
	}
}

func (h *Held) wait(ctx context.Context, r *Run) (Result, error) {
	if h.Live.Err() != nil { // whatever has become of ctx
		ctx = h.Live
	}
	select {
	case <-h.Live.Done():
	case <-ctx.Done():
		if h.Live.Err() == nil && h.Started() == nil {
			return Result{}, ctx.Err()
		}
		<-h.Live.Done()
	}
	r.finish()
	return h.Outcome(ctx)
}

func (h *Held) close(r *Run) error {
	h.Stop()
	_, err := h.wait(context.Background(), r)
	return err
}

func (h *Held) release() { h.Release() }
