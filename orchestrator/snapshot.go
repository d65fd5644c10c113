package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"

	"divisi/bus"
	"divisi/internal/usage"
	"divisi/subagents/environment"
	"divisi/subagents/wire"
)

// environmentSent is an environment that was taken from a checkout, as an order names it: Content is the digest of what it has,
// Object the sealed object of the cache, of Size bytes, unless the host has it.
type environmentSent struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Object  string `json:"object,omitempty"`
	Size    int64  `json:"size,omitempty"`
}

// takeSnapshot names in an order what the run has taken from ignored paths of the checkout.
func (h *conduct) takeSnapshot(r *order) error {
	if h.spec.Environment == "" {
		return nil
	}
	e, err := h.environments.Open(h.spec.Environment)
	if err != nil {
		return err
	}
	if e.Bytes > wire.MaxCommits {
		return usage.Errorf("the environment that is taken from the checkout has %d bytes, and at most %d travel: name the "+
			"paths that gates need without it in .divisi/divisi.yaml", e.Bytes, int64(wire.MaxCommits))
	}
	r.Environment = &environmentSent{ID: e.ID, Content: e.Content}
	return nil
}

// sendSnapshot puts the environment of an order into the cache of the bus, and says before how large it is.
func (h *conduct) sendSnapshot(ctx context.Context, s *environmentSent) error {
	e, err := h.environments.Open(s.ID)
	if err != nil {
		return err
	}
	h.notice(fmt.Sprintf("note: sending %d files of the checkout that git ignores, %.1f MiB", e.Entries,
		float64(e.Bytes)/(1<<20)))
	p, err := putEnvironment(ctx, h.bus.Cache(), h.path, e)
	s.Object, s.Size = p.name, p.size
	return err
}

// putEnvironment puts an environment into a cache. It is in a file below dir until it is there.
func putEnvironment(ctx context.Context, to bus.Cache, dir string, e *environment.Environment) (sealedPack, error) {
	return putSealed(ctx, to, dir, wire.SealedEnvironment, "environment "+e.ID, func(w io.Writer) error { return e.Send(ctx, w) })
}

// packEnvironment puts what came with the order of the run into the cache of the bus; nothing where none did.
func (h *conduct) packEnvironment(ctx context.Context, id string) (p sealedPack, err error) {
	if !h.ordered || id != h.spec.Environment {
		return p, nil
	}
	e, err := h.environments.Open(id)
	if err != nil {
		return p, err
	}
	sent, err, _ := h.sends.Do(id, func() (any, error) { // workers that begin together ask for it together
		return putEnvironment(ctx, h.bus.Cache(), h.path, e)
	})
	p, _ = sent.(sealedPack)
	return p, err
}

// lends is the system of the environment that the run lends to its workers, and the digest of what it has; "" for none.
func (h *conduct) lends() (system, content string, err error) {
	if !h.ordered || h.spec.Environment == "" {
		return "", "", nil
	}
	e, err := h.environments.Open(h.spec.Environment)
	if err != nil {
		return "", "", err
	}
	return e.Recipe.System + "/" + e.Recipe.Arch, e.Content, nil
}

// keepSnapshot keeps the environment that came with an order, unless this host has it.
func (h *conduct) keepSnapshot(ctx context.Context, r *order) error {
	s := r.Environment
	if s == nil {
		return nil
	}
	from := func(ctx context.Context, take func(context.Context, io.Reader) error) error {
		err := bus.ErrNotFound
		if s.Object != "" {
			err = sealedPack{s.Object, s.Size}.read(ctx, wire.SealedEnvironment, h.bus.Cache(), take)
		}
		switch {
		case !expired(err):
			return err
		case h.lender != nil:
			ask := hostCall{Verb: verbBase, Run: r.Spec.Run, Environment: s}
			return h.lent(ctx, ask, wire.SealedEnvironment, take)
		}
		return errNoContent
	}
	return h.receive(ctx, s.ID, s.Content, h.notice, from)
}

// receive keeps an environment that comes from another machine, unless this one has it. content is the digest of what it has; ""
// for any, of a conductor of an earlier version.
func (p *place) receive(
	ctx context.Context, id, content string, notice func(string),
	from func(context.Context, func(context.Context, io.Reader) error) error,
) error {
	e, err := p.environments.Open(id)
	switch {
	case err == nil && content != "" && e.Content != content:
		return usage.Errorf("this machine has another environment %.80s than the one that is named", id)
	case !errors.Is(err, environment.ErrNone) && !errors.As(err, new(*environment.DamagedError)):
		return err
	}
	err = from(ctx, func(ctx context.Context, r io.Reader) error {
		_, err := p.environments.Receive(ctx, id, content, r, func() { notice("waiting for another run, which gets the same") })
		return err
	})
	if err != nil {
		return fmt.Errorf("get the environment %.80s: %w", id, err)
	}
	return nil
}

// takeLent gets the environment that the conducting half lends.
func (w *work) takeLent(ctx context.Context) error {
	if w.shared || w.setup.Lends == "" {
		return nil
	}
	id := w.setup.Environment
	from := func(ctx context.Context, take func(context.Context, io.Reader) error) error {
		p, err := asked{w}.sealed(ctx, lacking{Environment: id}, errors.New("the conductor does not lend it"))
		if err != nil {
			return err
		}
		return p.read(ctx, wire.SealedEnvironment, w.bus.Cache(), take)
	}
	return w.receive(ctx, id, w.setup.Content, w.notice, from)
}

// system is that of this machine, as a setup names it.
func system() string { return runtime.GOOS + "/" + runtime.GOARCH }

// environments has those of a repository; they are only read.
func (h *Host) environments(caches string) *environment.Store {
	return environment.NewStore(environment.Below(filepath.Join(h.dir.Caches(), caches)), nil, now)
}

// hasEnvironment reports whether the host has the environment of an order to come.
func (h *Host) hasEnvironment(q *hostCall, caches string) bool {
	if q.Environment == nil {
		return false
	}
	s := h.environments(caches)
	defer s.Close()
	e, err := s.Open(q.Environment.ID)
	return err == nil && e.Content == q.Environment.Content
}

// lendsEnvironment is base of the environment that came with a run.
func (h *Host) lendsEnvironment(ctx context.Context, q *hostCall, caches string) (p sealedPack, err error) {
	s := h.environments(caches)
	defer s.Close()
	e, err := s.Open(q.Environment.ID)
	if err != nil {
		return p, err
	}
	return putEnvironment(ctx, h.bus.Cache(), h.dir.Run(q.Run), e)
}
