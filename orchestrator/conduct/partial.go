package conduct

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"

	"divisi/internal/git"
	"divisi/internal/sandbox"
)

// PartialClone is a clone that lacks objects of the base commit, which its remote has promised.
type PartialClone struct {
	Repo    string
	Missing int    // objects
	Remote  string // its name
	URL     string // without a password
}

// mirrorBase makes the mirror of the base commit at a directory. What a partial clone lacks of it is fetched after a yes. Errors:
// *git.PartialError.
func (h *Half) mirrorBase(ctx context.Context, dir string) (*git.Repo, error) {
	r, err := h.Git.CreateMirror(ctx, dir, h.Checkout, h.Spec.Base)
	lacks := new(git.PartialError)
	if h.agreeFetch == nil || !errors.As(err, &lacks) {
		return r, err
	}
	yes, asked := h.agreeFetch(ctx, PartialClone{lacks.Top, len(lacks.Missing), lacks.Remote, lacks.URL()})
	if !yes || asked != nil {
		return nil, cmp.Or(asked, err)
	}
	if err := h.fetchMissing(ctx, lacks); err != nil {
		return nil, err
	}
	return h.Git.CreateMirror(ctx, dir, h.Checkout, h.Spec.Base)
}

// fetchMissing fetches what a partial clone lacks into the caches of the repository.
func (h *Half) fetchMissing(ctx context.Context, lacks *git.PartialError) error {
	dir, err := h.Dir.Fetched(h.Checkout)
	if err != nil {
		return err
	}
	release, err := sandbox.LockCaches(filepath.Dir(filepath.Dir(dir)))
	if err != nil {
		return err
	}
	defer release()
	unlock, err := lockPast(ctx, filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer unlock()
	return h.Git.FetchMissing(ctx, h.Checkout, lacks, dir)
}
