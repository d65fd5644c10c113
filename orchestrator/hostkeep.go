package orchestrator

import (
	"context"
	"errors"
	"time"

	"divisi/bus"
	"divisi/internal/usage"
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
	for _, id := range h.list() {
		began, ok := store.BeganAt(id)
		if !ok || began.After(now.Add(-h.o.Keep)) || ctx.Err() != nil || h.active(id) || h.goesOn(ctx, id) {
			continue
		}
		if _, err := h.remove(ctx, id, false); err != nil && !errors.As(err, new(*usage.Error)) {
			h.dir.Log.Warn().Err(err).Str("run", id).Msg("a run that need not be kept was not removed")
		}
	}
}

// remove removes a run that is not active, here and on the server. One whose branch is in no repository yet stays, unless
// unfetched says that it may go.
func (h *Host) remove(ctx context.Context, id string, unfetched bool) (Removed, error) {
	mine, taken := h.place(id) // nothing begins it meanwhile
	if taken {
		return Removed{}, usage.Errorf("run %s is active: cancel it first", id)
	}
	defer func() {
		close(mine.begun)
		h.drop(ctx, mine)
	}()
	mine.err = usage.Errorf("run %s is being removed", id)
	m, err := h.submitted(id)
	if err != nil {
		return Removed{}, err
	}
	if !unfetched {
		st, _, err := h.dir.State(ctx, id)
		switch {
		case err != nil:
			return Removed{}, err
		case st.Head != st.Spec.Base && st.Head != m.Fetched:
			return Removed{}, usage.Errorf("the branch of run %s is in no repository yet: publish it, or remove the run with it",
				id)
		}
	}
	if err := h.lease.Held(); err != nil { // another host may go on with it
		return Removed{}, err
	}
	for r, err := range h.dir.Remove(ctx, store.Removal{Runs: []string{id}}, now()) {
		if err == nil {
			h.unnote(id)
		}
		return Removed(r), err
	}
	return Removed{}, nil
}

// gone reports whether the server has nothing of a run any more.
func (h *Host) gone(ctx context.Context, id, order string) bool {
	at := h.o.Server
	b, err := at.open(ctx, id)
	if err != nil {
		return false
	}
	defer h.dir.Close(b)
	last, err := b.Last(ctx, bus.RunFilter(id))
	if err != nil || last != nil {
		return false
	}
	_, err = wire.Open(ctx, b, sealedOrder, order)
	return errors.Is(err, bus.ErrNotFound)
}

// same refuses another order for a run than the one that it was begun with.
func (h *Host) same(id, order string) error {
	m, err := store.ReadMeta(h.dir.Run(id))
	if err == nil && m.Order != order {
		err = usage.Errorf("the host has another run %s: submit again", id)
	}
	return err
}
