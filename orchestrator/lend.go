package orchestrator

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"divisi/internal/git"
	"divisi/subagents/checkout"
)

// lend keeps what trees of other machines have beside the files that git stores.
func (h *conduct) lend(ctx context.Context, from checkout.Source) (err error) {
	h.beside, err = h.besides(h.git).Lend(ctx, from, h.mirror, h.spec.Base, filepath.Join(h.path, lentDir))
	if err != nil {
		return err
	}
	return lendable(len(h.beside.Modules()), h.beside.Pointers())
}

// packModule puts a pack of a submodule into the cache of the bus; none where it is not lent.
func (h *conduct) packModule(ctx context.Context, place, commit string, have []string) (p sealedPack, err error) {
	i := slices.IndexFunc(h.beside.Modules(), func(m checkout.Module) bool { return m.Place() == place && m.Commit == commit })
	if i < 0 {
		return p, nil
	}
	more := ""
	if h.checkout != nil {
		if more, err = (checkout.User{Git: h.git, Checkout: h.checkout}).Objects(h.beside.Modules()[i]); err != nil {
			more = "" // the mirror has the commit
		}
	}
	return putModule(ctx, h.git, h.bus.Cache(), h.path, commit, more, have)
}

// pack puts a pack of a commit into the cache of the bus, for a repository that has the commits in have.
func (h *conduct) pack(ctx context.Context, commit string, have []string) (sealedPack, error) {
	if len(have) > git.MaxKept {
		return sealedPack{}, fmt.Errorf("pack %s: %d commits are more than %d", commit, len(have), git.MaxKept)
	}
	return putPack(ctx, h.bus.Cache(), h.path, commit, func(w io.Writer) error {
		if commit != h.spec.Base {
			return h.mirror.PackTo(ctx, w, commit, have...)
		}
		objects := h.mirror.Objects() // with what the collection had that it was made of
		if h.checkout != nil {
			objects = h.checkout.Objects
		}
		return h.mirror.PackBase(ctx, w, objects, have...)
	})
}
