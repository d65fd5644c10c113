package conduct

import (
	"context"

	"divisi/orchestrator/client"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
)

// Stand brings the base commit of a submitted run to a machine that does not conduct it; for one that has ended its branch too.
func Stand(ctx context.Context, o *ResumeOptions, peer *client.Host, ended bool) error {
	h, err := newHalf(ctx, &o.Machine)
	if err != nil {
		return err
	}
	defer h.Release()
	h.Path, h.lender = h.Dir.Run(o.Run), peer
	m, err := store.ReadMeta(h.Path)
	if err != nil {
		return err
	}
	if h.Bus, err = h.Dir.Hold(ctx, o.Run, m.Server()); err != nil {
		return err
	}
	h.Later(func() { h.Dir.Close(h.Bus) })
	r, err := depot.UnsealOrder(ctx, h.Bus, o.Run, m.Order)
	if err != nil {
		return err
	}
	h.Ordered, h.exclude, h.Spec = true, r.Exclude, r.Spec
	h.Find(r.Caches())
	if err := h.bring(ctx, r); err != nil {
		return err
	}
	if !ended {
		return h.borrow(ctx, r)
	}
	st, err := eventlog.Fold(ctx, h.Bus, o.Run)
	if err == nil && st.Head != st.Spec.Base {
		_, err = h.from().publish(ctx, st.Head, "", "")
	}
	if err != nil || st.Status != run.Stopped {
		return err
	}
	return h.borrow(ctx, r) // a person may continue with it
}
