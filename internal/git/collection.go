package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// MaxKept bounds the commits that a collection keeps: those that were kept last.
	MaxKept = 32
	// keptRefs are the refs of kept commits: the time, so that the order of names is that of time, and the commit.
	keptRefs = "refs/kept/"
	keptTime = "20060102-150405.000"
)

// Collection is a bare repository of Divisi's own that keeps commits whole, most of them without their history, for mirrors to be
// made of. One caller at a time may use it, of all processes; mirrors share its packs and do not need it any more.
type Collection struct{ r *Repo }

// OpenCollection opens the collection at dir, or makes an empty one, for objects whose ids are as long as a commit's. Errors:
// ErrDamaged.
func (g *Git) OpenCollection(dir, commit string) (*Collection, error) {
	if err := checkIDs(commit); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		_, err = os.Stat(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = g.makeCollection(dir, len(commit))
	}
	if err == nil {
		if _, err = os.Stat(filepath.Join(dir, "HEAD")); errors.Is(err, fs.ErrNotExist) {
			err = ErrDamaged
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open the collection %s: %w", dir, err)
	}
	return &Collection{&Repo{g: g, dir: dir}}, nil
}

func (g *Git) makeCollection(dir string, format int) error {
	partial := dir + ".partial"
	if err := errors.Join(os.RemoveAll(partial), os.MkdirAll(filepath.Dir(dir), 0o700)); err != nil {
		return err
	}
	if err := (skeleton{format: format}).write(partial); err != nil {
		return err
	}
	return os.Rename(partial, dir)
}

// Close ends the processes that wait to read it.
func (c *Collection) Close() { c.r.Close() }

// Kept lists the commits that are kept, the last one first.
func (c *Collection) Kept(ctx context.Context) (commits []string, err error) {
	refs, err := c.refs(ctx)
	for _, ref := range refs {
		commits = append(commits, ref.commit)
	}
	return commits, err
}

type keptRef struct{ name, commit string }

func (c *Collection) refs(ctx context.Context) (refs []keptRef, err error) {
	out, err := c.r.run(ctx, "for-each-ref", "--sort=-refname", "--format=%(refname)", keptRefs)
	if err != nil {
		return nil, fmt.Errorf("list the content of %s: %w", c.r.dir, packError(err))
	}
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSuffix(name, "\n")
		if _, commit, _ := strings.Cut(name, "_"); ValidID(commit) {
			refs = append(refs, keptRef{name, commit})
		}
	}
	return refs, nil
}

// Whole reports whether it has a commit with all files; ErrDamaged when it has a part of it alone. The content of files is not
// read.
func (c *Collection) Whole(ctx context.Context, commit string) (bool, error) {
	has, err := c.r.Has(ctx, commit)
	if err != nil || !has {
		return false, packError(err)
	}
	_, err = c.r.run(ctx, "rev-list", "--quiet", "--objects", "--no-walk", commit, "--")
	if err = packError(err); errors.Is(err, ErrPack) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err != nil {
		return false, fmt.Errorf("look through %s in %s: %w", commit, c.r.dir, err)
	}
	return true, nil
}

// Receive takes in a commit, whole and without its history, by a pack with what it lacks. Errors: ErrPack, and the reader's.
func (c *Collection) Receive(ctx context.Context, commit string, pack io.Reader) error {
	if err := c.cut(commit); err != nil {
		return fmt.Errorf("receive %s: %w", commit, err)
	}
	if err := c.r.g.receive(ctx, c.r.dir, pack); err != nil {
		return fmt.Errorf("receive %s: %w", commit, err)
	}
	if has, err := c.r.Has(ctx, commit); err != nil || !has {
		return errors.Join(fmt.Errorf("receive %s: %w: the commit is not in it", commit, ErrPack), err)
	}
	return nil
}

// fetchedRef is that of what was fetched until it is kept.
const fetchedRef = "refs/fetched/head"

// Fetch brings a commit, whole and without its history, from a repository elsewhere, with the settings and credentials of the
// user of this process; what is a commit's id, or HEAD for the newest of its main branch. It returns the commit.
func (c *Collection) Fetch(ctx context.Context, url, what string) (commit string, err error) {
	_, err = c.r.g.exec(ctx, call{
		dir: Dir{GitDir: c.r.dir}, own: true, config: []string{"fetch.unpackLimit=1"},
		args: []string{
			"fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--", url,
			"+" + what + ":" + fetchedRef,
		},
	})
	if err == nil {
		commit, err = c.r.Ref(ctx, fetchedRef)
	}
	if err != nil {
		return "", fmt.Errorf("fetch %s: %w", what, err)
	}
	return commit, nil
}

// cut has a commit count as one without parents.
func (c *Collection) cut(commit string) error {
	if err := checkIDs(commit); err != nil {
		return err
	}
	name := filepath.Join(c.r.dir, "shallow")
	data, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if slices.Contains(strings.Fields(string(data)), commit) {
		return nil
	}
	if err := writeSynced(name+".new", string(data)+commit+"\n"); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// Take takes in commits of a mirror whose base it has, with all that leads to them.
func (c *Collection) Take(ctx context.Context, from *Repo, commits ...string) error {
	if err := checkIDs(commits...); err != nil {
		return err
	}
	if err := from.send(ctx, c.r.dir, strings.Join(commits, "\n")+"\n^"+from.base+"\n"); err != nil {
		return fmt.Errorf("take %d commits of %s: %w", len(commits), from.dir, err)
	}
	return nil
}

// Keep has a commit, which is whole, stay until MaxKept others were kept after it.
func (c *Collection) Keep(ctx context.Context, commit string, at time.Time) error {
	name, there := keptRefs+at.UTC().Format(keptTime)+"_"+commit, false
	refs, err := c.refs(ctx)
	for _, ref := range refs {
		if there = there || ref.name == name; err == nil && ref.commit == commit && ref.name != name {
			err = c.r.UpdateRef(ctx, ref.name, "", commit)
		}
	}
	if err == nil && !there {
		err = c.r.UpdateRef(ctx, name, commit, "")
	}
	if err != nil {
		return fmt.Errorf("keep %s in %s: %w", commit, c.r.dir, err)
	}
	return nil
}

// Tidy removes what a git that was killed has left, and commits beyond MaxKept. From many packs it makes one of what is kept.
func (c *Collection) Tidy(ctx context.Context) error {
	for _, f := range c.r.unfinished() {
		if err := os.Remove(filepath.Join(c.r.packs(), f.Name())); err != nil {
			return fmt.Errorf("remove an unfinished pack: %w", err)
		}
	}
	refs, err := c.refs(ctx)
	if err != nil {
		return err
	}
	for _, ref := range refs[min(MaxKept, len(refs)):] {
		if err := c.r.UpdateRef(ctx, ref.name, "", ref.commit); err != nil {
			return err
		}
	}
	packs, err := c.packs()
	if err != nil || len(packs) < manyPacks {
		return err
	}
	_, err = c.r.g.exec(ctx, call{
		dir: Dir{GitDir: c.r.dir}, config: []string{"pack.threads=1", "repack.writeBitmaps=false"},
		args: []string{"repack", "-a", "-d", "-q"},
	})
	if err != nil {
		return fmt.Errorf("pack %s anew: %w", c.r.dir, packError(err))
	}
	c.r.Close() // who has read the old packs still sees what was in them
	return nil
}

// packs lists the packs by their names without an ending. One without an index is not finished.
func (c *Collection) packs() (names []string, err error) {
	entries, err := os.ReadDir(c.r.packs())
	if err != nil {
		return nil, fmt.Errorf("list the packs of %s: %w", c.r.dir, err)
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".idx"); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

// Mirror makes the mirror of a commit at dir, or opens it, as CreateMirror does. It has the packs of the collection by hard
// links: they take no room, and stay when the collection goes. exclude are the lists of what is ignored.
func (c *Collection) Mirror(ctx context.Context, dir, commit string, exclude []byte) (*Repo, error) {
	if err := checkIDs(commit); err != nil {
		return nil, err
	}
	return c.r.g.createMirror(ctx, dir, commit, skeleton{exclude: exclude}, c.link)
}
