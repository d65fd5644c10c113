package host

import (
	"context"
	"errors"
	"fmt"
	"os"

	"divisi/bus"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/client"
	"divisi/orchestrator/conduct"
	"divisi/orchestrator/store"
)

// accept begins the run of an order, which its person has signed. The same order twice is as good as once; it waits no longer
// than the caller that sent it.
func (h *Host) accept(ctx context.Context, in *call.In, order *string) (none call.None, err error) {
	if !bus.ValidToken(in.Run) {
		return none, usage.Errorf("%.80q is no run's id", in.Run)
	}
	return none, h.accepts(ctx, in.Run, *order, h.by(in))
}

func (h *Host) accepts(ctx context.Context, id, order, by string) error {
	mine, taken := h.place(id)
	if taken {
		ctx, cancel := context.WithTimeout(ctx, client.TryTime)
		defer cancel()
		select {
		case <-mine.begun:
		case <-ctx.Done():
			return errNotBegun
		}
		if mine.err != nil {
			return mine.err
		}
		return h.same(id, order)
	}
	if err := h.vouchedFirst(ctx, id, order, by); err != nil {
		return h.settle(ctx, mine, errors.Join(err, h.undo(ctx, id)))
	}
	fresh, err := h.describe(id, order)
	if err != nil || !fresh && !h.goesOn(ctx, id) { // it was conducted, and has ended
		return h.settle(ctx, mine, err)
	}
	h.note(Known{Run: id, Order: order})
	if err := h.lease.Keep(ctx, h.notes); err != nil { // the next host has to know of it before the person does
		if fresh {
			err = errors.Join(err, h.undo(ctx, id))
		}
		return h.settle(ctx, mine, err)
	}
	return h.begin(ctx, mine, fresh, conduct.ResumeOptions{})
}

// describe writes the description of a run that is new here; fresh reports that it is.
func (h *Host) describe(id, order string) (fresh bool, err error) {
	dir := h.Dir.Run(id)
	if _, err := store.ReadMeta(dir); err == nil {
		return false, h.same(id, order)
	} else if !errors.As(err, new(*usage.Error)) {
		return false, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, fmt.Errorf("make the run's directory: %w", err)
	}
	return true, store.Meta{NATS: h.o.Server.URL, Login: h.o.Server.Login, Order: order}.Write(dir)
}

// errNotBegun leaves a call unanswered: its caller asks again.
var errNotBegun = fmt.Errorf("%w: the run has not begun yet", call.ErrUnanswered)
