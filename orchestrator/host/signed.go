package host

import (
	"context"
	"maps"
	"slices"

	"divisi/bus"
	"divisi/internal/usage"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/store"
	"divisi/subagents/wire"
)

// vouched refuses a run that who submits or resumes it has not signed; w is nil for the signature of the order. A process of this
// machine that needs no login signs nothing, and on a server that vouches for no names a signature is checked alone.
func (h *Host) vouched(ctx context.Context, id, order, by string, w *wire.Warrant) error {
	o, err := h.ordered(ctx, id, order)
	if err != nil {
		return err
	}
	if w == nil {
		w = o.Warrant
	}
	if w == nil {
		if by != bus.Local {
			return usage.Errorf("%s has not signed run %s: use the Divisi of the server's version", by, id)
		}
		return nil
	}
	if err := w.Verify(o.Mandate()); err != nil {
		return usage.Errorf("%v", err)
	}
	if by == bus.Local {
		return nil
	}
	if m, known := h.names().Member(by); !known || m.Key != w.Key || w.Person != by {
		return usage.Errorf("run %s is signed by %.64s with a key that is not that of %s", id, w.Person, by)
	}
	return nil
}

// vouchedFirst is vouched for an order that is new here.
func (h *Host) vouchedFirst(ctx context.Context, id, order, by string) error {
	if _, err := store.ReadMeta(h.Dir.Run(id)); err == nil {
		return nil
	}
	return h.vouched(ctx, id, order, by, nil)
}

// signed notes who answers for a run that has begun, and what stops it.
func (h *Host) signed(mine *hosted, w *wire.Warrant, stop context.CancelCauseFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	mine.warrant, mine.stop = w, stop
}

// disown stops the runs whose persons are members no more.
func (h *Host) disown() {
	h.mu.Lock()
	runs := slices.Collect(maps.Values(h.runs))
	h.mu.Unlock()
	for _, r := range runs {
		h.mu.Lock()
		w, stop := r.warrant, r.stop
		h.mu.Unlock()
		if stop != nil && h.names().admits(w) != nil {
			stop(conductor.ErrDisowned)
		}
	}
}
