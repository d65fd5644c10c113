package conduct

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
	"divisi/subagents/checkout"
	"divisi/subagents/wire"
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

// takeSnapshot names in an order what the run has taken from ignored paths of the checkout.
func (h *Half) takeSnapshot(r *depot.Order) error {
	if h.Spec.Environment == "" {
		return nil
	}
	e, err := h.Environments.Open(h.Spec.Environment)
	if err != nil {
		return err
	}
	if e.Bytes > wire.MaxCommits {
		return usage.Errorf("the environment that is taken from the checkout has %d bytes, and at most %d travel: name the "+
			"paths that gates need without it in .divisi/divisi.yaml", e.Bytes, int64(wire.MaxCommits))
	}
	r.Environment = &call.Environment{ID: e.ID, Content: e.Content}
	return nil
}

// sendSnapshot puts the environment of an order into the cache of the bus, and says before how large it is.
func (h *Half) sendSnapshot(ctx context.Context, s *call.Environment) error {
	e, err := h.Environments.Open(s.ID)
	if err != nil {
		return err
	}
	h.notice(fmt.Sprintf("note: sending %d files of the checkout that git ignores, %.1f MiB", e.Entries,
		float64(e.Bytes)/(1<<20)))
	p, err := depot.PutEnvironment(ctx, h.Bus.Cache(), h.Path, e)
	s.Object, s.Size = p.Object, p.Size
	return err
}

// packEnvironment puts what came with the order of the run into the cache of the bus; nothing where none did.
func (h *Half) packEnvironment(ctx context.Context, id string) (p depot.SealedPack, err error) {
	if id == "" || id != h.from().environment() {
		return p, nil
	}
	e, err := h.Environments.Open(id)
	if err != nil {
		return p, err
	}
	sent, err, _ := h.sends.Do(id, func() (any, error) { // workers that begin together ask for it together
		return depot.PutEnvironment(ctx, h.Bus.Cache(), h.Path, e)
	})
	p, _ = sent.(depot.SealedPack)
	return p, err
}

// lends is the system of the environment that the run lends to its workers, and the digest of what it has; "" for none.
func (h *Half) lends() (system, content string, err error) {
	id := h.from().environment()
	if id == "" {
		return "", "", nil
	}
	e, err := h.Environments.Open(id)
	if err != nil {
		return "", "", err
	}
	return e.Recipe.System + "/" + e.Recipe.Arch, e.Content, nil
}

// keepSnapshot keeps the environment that came with an order, unless this host has it.
func (h *Half) keepSnapshot(ctx context.Context, r *depot.Order) error {
	s := r.Environment
	if s == nil {
		return nil
	}
	from := func(ctx context.Context, take func(context.Context, io.Reader) error) error {
		err := bus.ErrNotFound
		if s.Object != "" {
			err = depot.SealedPack{Object: s.Object, Size: s.Size}.Read(ctx, wire.SealedEnvironment, h.Bus.Cache(), take)
		}
		switch {
		case !expired(err):
			return err
		case h.lender != nil:
			return h.lent(ctx, r.Spec.Run, call.Base{Environment: s}, wire.SealedEnvironment, take)
		}
		return errNoContent
	}
	return h.Receive(ctx, s.ID, s.Content, h.notice, from)
}
