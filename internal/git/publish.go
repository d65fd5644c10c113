package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Publish puts a commit of the mirror, and what it needs beyond base, into the user's repository and makes one new
// branch for it, or moves the branch that was published before at had. Nothing else there changes and none of its hooks or
// settings is used. A ref that names the commit already is no error; one that names neither is ErrStale, and so is a branch that
// a work tree has checked out: its files would no longer be those of its branch.
func (g *Git) Publish(ctx context.Context, c *Checkout, r *Repo, ref, commit, base, had string) (err error) {
	if err := errors.Join(ValidRef(ref), checkIDs(commit, base)); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	if !strings.HasPrefix(ref, "refs/heads/") {
		return fmt.Errorf("publish %s: %w: only branches are published", ref, ErrBadName)
	}
	v, err := c.openView()
	if err != nil {
		return fmt.Errorf("publish %s: %w", ref, err)
	}
	defer func() { err = errors.Join(err, v.close()) }()
	have, err := g.readRef(ctx, v.dir, ref)
	switch {
	case err != nil && !errors.Is(err, ErrNotFound):
		return fmt.Errorf("publish %s as %s: %w", commit, ref, err)
	case have == commit:
		return nil
	case have != "" && have != had:
		return fmt.Errorf("publish %s as %s: %w: it is at %s", commit, ref, ErrStale, have)
	case have != "" && c.checkedOut(ref):
		return fmt.Errorf("publish %s as %s: %w: it is checked out", commit, ref, ErrStale)
	}
	if err := g.giveObjects(ctx, c, v, r, commit, base); err != nil {
		return fmt.Errorf("publish %s as %s: %w", commit, ref, err)
	}
	if err := g.updateRef(ctx, v.dir, ref, commit, have); err != nil {
		return fmt.Errorf("publish %s: %w", commit, err)
	}
	return nil
}

// checkedOut reports whether the work tree of the repository, or a linked one, has a branch checked out.
func (c *Checkout) checkedOut(ref string) bool {
	heads, _ := filepath.Glob(filepath.Join(escapeGlob(c.CommonDir), "worktrees", "*", "HEAD")) // the pattern is well-formed
	return slices.ContainsFunc(append(heads, filepath.Join(c.CommonDir, "HEAD")), func(head string) bool {
		data, err := readSmall(head)
		return err == nil && strings.TrimSpace(string(data)) == "ref: "+ref
	})
}

// giveObjects adds one pack to the user's object store. The view's settings hold while git writes there.
func (g *Git) giveObjects(ctx context.Context, c *Checkout, v *view, r *Repo, commit, base string) (err error) {
	target := &Repo{g: g, dir: v.dir.GitDir}
	defer target.Close()
	infos, err := target.stat(ctx, []string{commit, base})
	if err != nil {
		return err
	}
	if infos[0].kind == "commit" {
		return nil
	}
	if infos[1].kind != "commit" {
		return fmt.Errorf("base %s is not in %s: %w", base, c.Top, ErrNotFound)
	}
	pack, remove, err := r.packFile(ctx, commit+"\n^"+base+"\n")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	env := []string{"GIT_OBJECT_DIRECTORY=" + filepath.Clean(c.Objects)}
	if c.promisor.name != "" { // what the clone lacks of the new trees, its remote has
		env = append(env, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+quoteAlternate(r.Objects()))
	}
	_, err = g.exec(ctx, call{
		dir: v.dir, env: env, stdin: pack,
		args: []string{"index-pack", "--stdin", "--strict"},
	})
	return err
}

// packFile has a pack of revs in a file, to be read: it is whole before the user's repository gets a part of it.
func (r *Repo) packFile(ctx context.Context, revs string) (_ *os.File, remove func() error, err error) {
	tmp, clean, err := scratch()
	if err != nil {
		return nil, nil, err
	}
	f, err := os.Create(filepath.Join(tmp, "pack"))
	if err != nil {
		return nil, nil, errors.Join(err, clean())
	}
	remove = func() error { return errors.Join(f.Close(), clean()) }
	if err = r.pack(ctx, f, revs); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return f, remove, nil
}

// BranchError reports that a branch cannot be made because of another: git keeps a/b below a.
type BranchError struct{ Branch, Wanted string }

// Error names both branches.
func (e *BranchError) Error() string {
	return fmt.Sprintf("the branch %s is in the way: git cannot make branches such as %s beside it", e.Branch, e.Wanted)
}

// CheckBranch returns a *BranchError where a branch of the user's is in the way of ref.
func (g *Git) CheckBranch(ctx context.Context, c *Checkout, ref string) (err error) {
	v, err := c.openView()
	if err != nil {
		return fmt.Errorf("look for branches in the way of %s: %w", ref, err)
	}
	defer func() { err = errors.Join(err, v.close()) }()
	const branches = "refs/heads/"
	for above := path.Dir(ref); strings.HasPrefix(above, branches); above = path.Dir(above) {
		_, err := g.readRef(ctx, v.dir, above)
		if err == nil {
			return &BranchError{Branch: above[len(branches):], Wanted: ref[len(branches):]}
		}
		if !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// ErrReadOnly is a repository that a result could not be published to.
var ErrReadOnly = errors.New("this repository cannot be written")

// Writable returns nil where objects and branches could be added to the repository, else an ErrReadOnly that says where not. It
// writes nothing.
func (c *Checkout) Writable() error {
	for _, dir := range []string{filepath.Join(c.Objects, "pack"), filepath.Join(c.CommonDir, "refs", "heads"), c.CommonDir} {
		if err := mayWrite(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %s: %w", ErrReadOnly, dir, err)
		}
	}
	return nil
}
