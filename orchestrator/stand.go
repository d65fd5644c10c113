package orchestrator

import (
	"context"

	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
)

// stand brings the base commit of a submitted run to a machine that does not conduct it; for one that has ended its branch too.
func stand(ctx context.Context, o *ResumeOptions, peer *client, ended bool) error {
	h, err := newHalf(ctx, &o.Machine)
	if err != nil {
		return err
	}
	defer h.release()
	h.path, h.lender = h.dir.Run(o.Run), peer
	m, err := store.ReadMeta(h.path)
	if err != nil {
		return err
	}
	if h.bus, err = h.dir.Hold(ctx, o.Run, m.Server()); err != nil {
		return err
	}
	h.later(func() { h.dir.Close(h.bus) })
	r, err := unsealOrder(ctx, h.bus, o.Run, m.Order)
	if err != nil {
		return err
	}
	h.ordered, h.exclude, h.spec = true, r.Exclude, r.Spec
	h.find(r.caches())
	if err := h.bring(ctx, r); err != nil {
		return err
	}
	if !ended {
		return h.borrow(ctx, r)
	}
	st, err := eventlog.Fold(ctx, h.bus, o.Run)
	if err == nil && st.Head != st.Spec.Base {
		_, err = h.keepBranch(ctx, st.Head)
	}
	if err != nil || st.Status != run.Stopped {
		return err
	}
	return h.borrow(ctx, r) // a person may go on with it
}
