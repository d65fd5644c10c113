package conduct

import (
	"context"
	"fmt"
	"io"

	"divisi/bus"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
	"divisi/subagents/wire"
)

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
