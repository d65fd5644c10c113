package checkout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"divisi/internal/git"
	"divisi/internal/spec"
)

// Source provides trees with submodules and the contents of Git LFS: the user's checkout, or another machine.
type Source interface {
	// Module makes the mirror of a submodule's commit in a new directory. git.ErrNoModule where the source does not have it.
	Module(ctx context.Context, m Module, dir string) (*git.Repo, error)
	// Object has take read the content that a pointer names, which take compares with it. fs.ErrNotExist where the source does
	// not have it.
	Object(ctx context.Context, p spec.Pointer, take func(context.Context, io.Reader) error) error
}

// historian is a source that has the history of submodules too: their commits and tags, which it brings below a directory.
type historian interface {
	Past(ctx context.Context, m Module, dir string) (git.Past, error)
}

// Module is a submodule at a place of a tree.
type Module struct {
	Commit string
	// way leads to it: through the submodules that it is in.
	way []step
}

// step is a submodule in the one before: its place there, and its name, which can be empty.
type step struct{ place, name string }

// Place is its path from the top of the tree.
func (m Module) Place() string {
	place := ""
	for _, s := range m.way {
		place = path.Join(place, s.place)
	}
	return place
}

// String is its place and commit.
func (m Module) String() string { return m.Place() + "@" + m.Commit }

// User is the user's checkout as a source.
type User struct {
	Git      *git.Git
	Checkout *git.Checkout
}

// Module implements Source.
func (u User) Module(ctx context.Context, m Module, dir string) (*git.Repo, error) {
	own, err := u.find(m)
	if err != nil {
		return nil, err
	}
	r, err := u.Git.CreateMirror(ctx, dir, own, m.Commit)
	if errors.Is(err, git.ErrDamaged) {
		err = fmt.Errorf("%w: %w", git.ErrNoModule, err)
	}
	return r, err
}

// Past implements historian. What the checkout lacks of it, as a shallow one does, trees lack too.
func (u User) Past(ctx context.Context, m Module, dir string) (p git.Past, err error) {
	own, err := u.find(m)
	if err != nil {
		return p, err
	}
	if p, err = u.Git.TakePast(ctx, own, m.Commit, dir, false); errors.Is(err, git.ErrDamaged) {
		return git.Past{}, nil
	}
	return p, err
}

// Objects is the directory of all objects of a submodule.
func (u User) Objects(m Module) (string, error) {
	own, err := u.find(m)
	if err != nil {
		return "", err
	}
	return own.Objects, nil
}

func (u User) find(m Module) (c *git.Checkout, err error) {
	c = u.Checkout
	for _, s := range m.way {
		if c, err = c.Module(s.place, s.name); errors.Is(err, git.ErrOwner) {
			err = fmt.Errorf("%w: %w", git.ErrNoModule, err)
		}
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Object implements Source.
func (u User) Object(ctx context.Context, p spec.Pointer, take func(context.Context, io.Reader) error) error {
	from, err := u.Checkout.OpenLFS(p)
	if err != nil {
		return err
	}
	return errors.Join(take(ctx, from), from.Close())
}
