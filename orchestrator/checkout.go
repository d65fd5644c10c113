package orchestrator

import (
	"context"

	"divisi/internal/sandbox"
	"divisi/subagents/checkout"
)

// takeCheckout takes what the trees of the run have of the user's checkout. Nothing else of a run reads it.
func (h *holder) takeCheckout(ctx context.Context) (err error) {
	store := checkout.NewStore(h.git, h.caches, h.trash.Put, now)
	if h.beside, err = store.Take(ctx, h.checkout, h.mirror, h.spec.Base); err != nil {
		return err
	}
	if !h.beside.Empty() && !sandbox.ShowsLayers() {
		h.notices = append(h.notices, "trees have neither the submodules of the repository nor what Git LFS keeps: "+
			"on this machine commands have no namespaces")
		return nil
	}
	h.spec.Missing = h.beside.Missing()
	h.notices = append(h.notices, h.spec.Missing...)
	return nil
}
