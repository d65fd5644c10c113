package depot

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
	// LentDir has, in the directory of a run that others work for, mirrors of its submodules.
	LentDir = "modules"
	// maxModules bounds the submodules that travel, maxContents the contents of Git LFS together, in bytes.
	maxModules  = 500
	maxContents = 32 << 30
)

// Lendable refuses what is too much to travel.
func Lendable(modules int, contents []spec.Pointer) error {
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

// Besides is the store of what trees of the repository have beside the files that git stores.
func (p *Place) Besides(g *git.Git) *checkout.Store {
	return checkout.NewStore(g, p.Caches, func(dir string) error { return p.Trash.Put(dir) }, Now)
}

// ModuleCaches names the collection of a submodule, which is a repository of its own; that of the repository for no place.
func ModuleCaches(caches, place string) string {
	if place == "" {
		return caches
	}
	sum := sha256.Sum256([]byte(place))
	return caches + "-" + hex.EncodeToString(sum[:8])
}

// Module makes the mirror of a submodule from what this machine keeps of it, and from packs.
func (p *Place) Module(
	ctx context.Context, g *git.Git, notice func(string), caches string, m checkout.Module, dir string, from Source,
) (*git.Repo, error) {
	return p.collected(ctx, g, notice, ModuleCaches(caches, m.Place()), mirrors.Mirror{Dir: dir, Commit: m.Commit}, from)
}

// PutModule puts a pack of a submodule that a run lends into a cache. objects is the directory of more objects; "" for none.
func PutModule(
	ctx context.Context, g *git.Git, to bus.Cache, run, commit, objects string, have []string,
) (p SealedPack, err error) {
	if len(have) > git.MaxKept {
		return p, fmt.Errorf("pack %s: %d commits are more than %d", commit, len(have), git.MaxKept)
	}
	r, err := g.OpenMirror(filepath.Join(run, LentDir, commit))
	if err != nil {
		return p, err
	}
	defer r.Close()
	if objects == "" {
		objects = r.Objects() // with what the collection had that it was made of
	}
	return PutPack(ctx, to, run, commit, func(w io.Writer) error { return r.PackBase(ctx, w, objects, have...) })
}

// Content is the sealed object of a file of Git LFS: its name has the digest that its pointer has.
func Content(p spec.Pointer) SealedPack { return SealedPack{wire.SealedContent + "-" + p.OID, p.Size} }

// PutContent puts the content of a file of Git LFS into a cache; nothing where the store does not have it.
func PutContent(ctx context.Context, to bus.Cache, from *checkout.Store, p spec.Pointer) (SealedPack, error) {
	f, err := from.Open(p)
	if errors.Is(err, fs.ErrNotExist) {
		return SealedPack{}, nil
	}
	if err != nil {
		return SealedPack{}, fmt.Errorf("open the content %s of Git LFS: %w", p.OID, err)
	}
	return Content(p), errors.Join(to.PutFrom(ctx, Content(p).Object, f), f.Close())
}
