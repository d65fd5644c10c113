package conduct

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"divisi/internal/git"
	"divisi/orchestrator/depot"
	"divisi/subagents/checkout"
)

// Lend keeps what trees of other machines have beside the files that git stores.
func (h *Half) Lend(ctx context.Context, from checkout.Source) (err error) {
	h.Beside, err = h.Besides(h.Git).Lend(ctx, from, h.Mirror, h.Spec.Base, filepath.Join(h.Path, depot.LentDir))
	if err != nil {
		return err
	}
	return depot.Lendable(len(h.Beside.Modules()), h.Beside.Pointers())
}

// packModule puts a pack of a submodule into the cache of the bus; none where it is not lent.
func (h *Half) packModule(ctx context.Context, place, commit string, have []string) (p depot.SealedPack, err error) {
	i := slices.IndexFunc(h.Beside.Modules(), func(m checkout.Module) bool { return m.Place() == place && m.Commit == commit })
	if i < 0 {
		return p, nil
	}
	more := ""
	if h.Checkout != nil {
		if more, err = (checkout.User{Git: h.Git, Checkout: h.Checkout}).Objects(h.Beside.Modules()[i]); err != nil {
			more = "" // the mirror has the commit
		}
	}
	return depot.PutModule(ctx, h.Git, h.Bus.Cache(), h.Path, commit, more, have)
}

// Pack puts a pack of a commit into the cache of the bus, for a repository that has the commits in have.
func (h *Half) Pack(ctx context.Context, commit string, have []string) (depot.SealedPack, error) {
	if len(have) > git.MaxKept {
		return depot.SealedPack{}, fmt.Errorf("pack %s: %d commits are more than %d", commit, len(have), git.MaxKept)
	}
	return depot.PutPack(ctx, h.Bus.Cache(), h.Path, commit, func(w io.Writer) error {
		if commit != h.Spec.Base {
			return h.Mirror.PackTo(ctx, w, commit, have...)
		}
		objects := h.Mirror.Objects() // with what the collection had that it was made of
		if h.Checkout != nil {
			objects = h.Checkout.Objects
		}
		return h.Mirror.PackBase(ctx, w, objects, have...)
	})
}
