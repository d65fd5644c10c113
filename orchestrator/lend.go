package orchestrator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/mirrors"
	"divisi/subagents/checkout"
	"divisi/subagents/wire"
)

const (
	// lentDir has, in the directory of a run that others work for, mirrors of its submodules.
	lentDir = "modules"
	// maxModules bounds the submodules that travel, maxContents the contents of Git LFS together, in bytes.
	maxModules  = 500
	maxContents = 32 << 30
)

// lend keeps what trees of other machines have beside the files that git stores.
func (h *conduct) lend(ctx context.Context, from checkout.Source) (err error) {
	h.beside, err = h.besides(h.git).Lend(ctx, from, h.mirror, h.spec.Base, filepath.Join(h.path, lentDir))
	if err != nil {
		return err
	}
	return lendable(len(h.beside.Modules()), h.beside.Pointers())
}

// lendable refuses what is too much to travel.
func lendable(modules int, contents []spec.Pointer) error {
	sum := int64(0)
	for _, p := range contents {
		if p.Size < 0 || p.Size > wire.MaxCommits {
			return usage.Errorf("a file of Git LFS, %.80s, has %d bytes, and at most %d travel", p.OID, p.Size,
				int64(wire.MaxCommits))
		}
		sum += p.Size
	}
	if modules > maxModules || sum > maxContents {
		return usage.Errorf("the repository has %d submodules and %d bytes in files of Git LFS: at most %d and %d travel "+
			"to other machines", modules, sum, maxModules, int64(maxContents))
	}
	return nil
}

// besides is the store of what trees of the repository have beside the files that git stores.
func (p *place) besides(g *git.Git) *checkout.Store {
	return checkout.NewStore(g, p.caches, func(dir string) error { return p.trash.Put(dir) }, now)
}

// moduleCaches names the collection of a submodule, which is a repository of its own; that of the repository for no place.
func moduleCaches(caches, place string) string {
	if place == "" {
		return caches
	}
	sum := sha256.Sum256([]byte(place))
	return caches + "-" + hex.EncodeToString(sum[:8])
}

// module makes the mirror of a submodule from what this machine keeps of it, and from packs.
func (p *place) module(
	ctx context.Context, g *git.Git, notice func(string), caches string, m checkout.Module, dir string, from mirrors.Source,
) (*git.Repo, error) {
	s, err := p.collections(g, notice)
	if err != nil {
		return nil, err
	}
	held, r, err := s.Open(ctx, moduleCaches(caches, m.Place()), mirrors.Mirror{Dir: dir, Commit: m.Commit}, from)
	if err != nil {
		return nil, err
	}
	if err := held.Close(); err != nil { // the mirror does not need it any more
		p.log.Warn().Err(err).Msg("the mirrors of repositories may take more than they should")
	}
	return r, nil
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

// putModule puts a pack of a submodule that a run lends into a cache. objects is the directory of more objects; "" for none.
func putModule(
	ctx context.Context, g *git.Git, to bus.Cache, run, commit, objects string, have []string,
) (p sealedPack, err error) {
	if len(have) > git.MaxKept {
		return p, fmt.Errorf("pack %s: %d commits are more than %d", commit, len(have), git.MaxKept)
	}
	r, err := g.OpenMirror(filepath.Join(run, lentDir, commit))
	if err != nil {
		return p, err
	}
	defer r.Close()
	if objects == "" {
		objects = r.Objects() // with what the collection had that it was made of
	}
	return putPack(ctx, to, run, commit, func(w io.Writer) error { return r.PackBase(ctx, w, objects, have...) })
}

// content is the sealed object of a file of Git LFS: its name has the digest that its pointer has.
func content(p spec.Pointer) sealedPack { return sealedPack{wire.SealedContent + "-" + p.OID, p.Size} }

// putContent puts the content of a file of Git LFS into a cache; nothing where the store does not have it.
func putContent(ctx context.Context, to bus.Cache, from *checkout.Store, p spec.Pointer) (sealedPack, error) {
	f, err := from.Open(p)
	if errors.Is(err, fs.ErrNotExist) {
		return sealedPack{}, nil
	}
	if err != nil {
		return sealedPack{}, fmt.Errorf("open the content %s of Git LFS: %w", p.OID, err)
	}
	return content(p), errors.Join(to.PutFrom(ctx, content(p).name, f), f.Close())
}

// asked is the conducting half of a run as a source.
type asked struct{ w *work }

// Module implements checkout.Source.
func (a asked) Module(ctx context.Context, m checkout.Module, dir string) (*git.Repo, error) {
	ask := func(ctx context.Context, commit string, have []string, take func(context.Context, io.Reader) error) error {
		p, err := a.sealed(ctx, lacking{Module: m.Place(), Commit: commit, Have: have}, git.ErrNoModule)
		if err != nil {
			return err
		}
		return p.copy(ctx, a.w.bus.Cache(), take)
	}
	return a.w.module(ctx, a.w.git, a.w.notice, a.w.setup.Caches, m, dir, ask)
}

// Object implements checkout.Source.
func (a asked) Object(ctx context.Context, p spec.Pointer, take func(context.Context, io.Reader) error) error {
	if err := lendable(0, []spec.Pointer{p}); err != nil {
		return err
	}
	if _, err := a.sealed(ctx, lacking{Content: &p}, fs.ErrNotExist); err != nil {
		return err
	}
	return content(p).read(ctx, wire.SealedContent, a.w.bus.Cache(), take)
}

// sealed asks for an object; none is an error.
func (a asked) sealed(ctx context.Context, l lacking, none error) (sealedPack, error) {
	got, err := a.w.ask(ctx, call{name: callPack, body: l})
	if err == nil && got.Object == "" {
		err = none
	}
	return sealedPack{got.Object, got.Size}, err
}

// takeBeside takes what the conducting half lends. Where it lends it, this machine has it, or cannot work.
func (w *work) takeBeside(ctx context.Context) (*checkout.Content, error) {
	if w.setup.Beside == "" {
		return nil, nil
	}
	var from checkout.Source
	if !w.shared {
		from = asked{w}
		if !sandbox.ShowsLayers() {
			w.notice(noLayers)
		}
	}
	c, err := w.besides(w.git).Take(ctx, from, w.mirror, w.setup.Base)
	if err == nil && c.Digest() != w.setup.Beside {
		err = fmt.Errorf("the trees of run %s have other submodules, or files of Git LFS, than its conductor and %s have "+
			"together", w.run, w.caches)
	}
	if err != nil {
		return nil, fmt.Errorf("get the submodules and files of Git LFS of run %s: %w", w.run, err)
	}
	return c, nil
}
