package conduct

import (
	"divisi/orchestrator/depot"
)

// findCaches finds the directory of a repository's caches. Each sample is another repository, and all have the same caches.
func (h *Half) findCaches(sample bool) error {
	id, err := h.Checkout.Identity()
	if sample {
		id = depot.SampleCaches
	}
	h.Find(id)
	return err
}
