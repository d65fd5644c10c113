package host

import (
	"context"
	"errors"
	"time"

	"divisi/bus"
	"divisi/internal/usage"
	"divisi/orchestrator/client"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/store"
	"divisi/subagents/wire"
)

// tidyPause is between two times that a host looks for runs which it need not keep.
const tidyPause = time.Hour

// tidy removes the runs that have ended and that began longer ago than they are kept.
func (h *Host) tidy(ctx context.Context, now time.Time) {
	if h.o.Keep <= 0 {
		return
	}
	for _, id := range h.List() {
		began, ok := store.BeganAt(id)
		if !ok || began.After(now.Add(-h.o.Keep)) || ctx.Err() != nil || h.Active(id) || h.goesOn(ctx, id) {
			continue
		}
		if _, err := h.remove(ctx, id, false); err != nil && !errors.As(err, new(*usage.Error)) {
			h.Dir.Log.Warn().Err(err).Str("run", id).Msg("a run that need not be kept was not removed")
		}
	}
}

// remove removes a run that is not active, here and on the server. One whose branch is in no repository yet stays, unless
// unfetched reports that it may go.
func (h *Host) remove(ctx context.Context, id string, unfetched bool) (r client.Removed, err error) {
	mine, taken := h.place(id) // nothing begins it meanwhile
	if taken {
		return r, usage.Errorf("run %s is active: cancel it first", id)
	}
	defer func() {
		close(mine.begun)
		h.drop(ctx, mine)
	}()
	mine.err = usage.Errorf("run %s is being removed", id)
	m, err := h.submitted(id)
	if err != nil {
		return r, err
	}
	if !unfetched {
		st, _, err := h.Dir.State(ctx, id)
		switch {
		case err != nil:
			return r, err
		case st.Head != st.Spec.Base && st.Head != m.Fetched:
			return r, usage.Errorf("the branch of run %s is in no repository yet: publish it, or remove the run with it",
				id)
		}
	}
	if err := h.lease.Held(); err != nil { // another host may continue with it
		return r, err
	}
	for removed, err := range h.Dir.Remove(ctx, store.Removal{Runs: []string{id}}, depot.Now()) {
		if err == nil {
			h.unnote(id)
		}
		return client.Removed(removed), err
	}
	return r, nil
}

// gone reports whether the server has nothing of a run any more.
func (h *Host) gone(ctx context.Context, id, order string) bool {
	at := h.o.Server
	b, err := at.Open(ctx, id)
	if err != nil {
		return false
	}
	defer h.Dir.Close(b)
	last, err := b.Last(ctx, bus.RunFilter(id))
	if err != nil || last != nil {
		return false
	}
	_, err = wire.Open(ctx, b, depot.SealedOrder, order)
	return errors.Is(err, bus.ErrNotFound)
}

// same refuses another order for a run than the one that it was begun with.
func (h *Host) same(id, order string) error {
	m, err := store.ReadMeta(h.Dir.Run(id))
	if err == nil && m.Order != order {
		err = usage.Errorf("the host has another run %s: submit again", id)
	}
	return err
}
