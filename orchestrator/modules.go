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

	"divisi/bus"
	"divisi/internal/git"
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
	ctx context.Context, g *git.Git, notice func(string), caches string, m checkout.Module, dir string, from source,
) (*git.Repo, error) {
	return p.collected(ctx, g, notice, moduleCaches(caches, m.Place()), mirrors.Mirror{Dir: dir, Commit: m.Commit}, from)
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
	return content(p), errors.Join(to.PutFrom(ctx, content(p).Object, f), f.Close())
}
