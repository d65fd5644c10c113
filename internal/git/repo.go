package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// ErrStale reports that a ref is not where the caller took it to be: another process moved it.
var ErrStale = errors.New("the ref has moved")

// Repo is a bare repository directory of Divisi's own: a mirror, or one that borrows from it. It holds no state but its
// place, processes that read it, and what never changes; any number of goroutines may use it.
type Repo struct {
	g    *Git
	dir  string
	base string
	// reads answer what objects are, diffs how trees differ.
	reads, diffs servers
	// memo is nil where objects go again.
	memo *memo
	// tested are the commits that Tested has made, by their date and the commit of the run.
	tested sync.Map
	// packing is held while objects are packed.
	packing sync.Mutex
}

// Close ends the processes that wait to read the repository, which can be used all the same. They end soon without it too.
func (r *Repo) Close() {
	r.reads.close()
	r.diffs.close()
}

// Git returns the git program that works on the repository.
func (r *Repo) Git() *Git { return r.g }

// Dir returns the repository's directory.
func (r *Repo) Dir() string { return r.dir }

// Objects returns the directory of its objects, for others to borrow from.
func (r *Repo) Objects() string { return filepath.Join(r.dir, "objects") }

// Base returns the commit that the mirror was made from: the oldest one, whose parents are not there.
func (r *Repo) Base() string { return r.base }

func (r *Repo) run(ctx context.Context, args ...string) ([]byte, error) {
	return r.g.exec(ctx, call{dir: Dir{GitDir: r.dir}, args: args})
}

// Has reports whether the repository has a commit.
func (r *Repo) Has(ctx context.Context, commit string) (bool, error) {
	infos, err := r.stat(ctx, []string{commit})
	if err != nil {
		return false, fmt.Errorf("look for commit %s: %w", commit, err)
	}
	return infos[0].kind == "commit", nil
}

// Ref returns the object that a ref names; ErrNotFound when there is no such ref.
func (r *Repo) Ref(ctx context.Context, ref string) (string, error) {
	return r.g.readRef(ctx, Dir{GitDir: r.dir}, ref)
}

func (g *Git) readRef(ctx context.Context, d Dir, ref string) (string, error) {
	if err := ValidRef(ref); err != nil {
		return "", err
	}
	out, err := g.exec(ctx, call{dir: d, args: []string{"for-each-ref", "--format=%(objectname) %(refname)", ref}})
	if err != nil {
		return "", fmt.Errorf("read %s: %w", ref, err)
	}
	for line := range strings.Lines(string(out)) {
		if id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); name == ref && ValidID(id) {
			return id, nil
		}
	}
	return "", fmt.Errorf("ref %s: %w", ref, ErrNotFound)
}

// UpdateRef moves a ref from one object to another in one step. An empty from means that the ref must not exist yet, an
// empty to deletes it. When the ref is elsewhere the error is ErrStale. The lock of a git that did not live to remove it is
// removed after staleLock.
func (r *Repo) UpdateRef(ctx context.Context, ref, to, from string) error {
	err := r.g.updateRef(ctx, Dir{GitDir: r.dir}, ref, to, from)
	var exit *ExitError
	if !errors.As(err, &exit) || errors.Is(err, ErrStale) {
		return err
	}
	lock := filepath.Join(r.dir, filepath.FromSlash(ref)+".lock")
	if info, statErr := os.Stat(lock); statErr != nil || time.Since(info.ModTime()) < staleLock {
		return err
	}
	if rmErr := os.Remove(lock); rmErr != nil {
		return errors.Join(err, rmErr)
	}
	return r.g.updateRef(ctx, Dir{GitDir: r.dir}, ref, to, from)
}

// staleLock is far longer than git holds the lock of a ref, which is the time of one small write.
const staleLock = 10 * time.Second

func (g *Git) updateRef(ctx context.Context, d Dir, ref, to, from string) error {
	if err := ValidRef(ref); err != nil {
		return err
	}
	for _, id := range []string{to, from} {
		if id != "" && !ValidID(id) {
			return fmt.Errorf("object id %q: %w", id, ErrBadName)
		}
	}
	if to == "" && from == "" {
		return fmt.Errorf("delete %s: %w: its present value is needed", ref, ErrBadName)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("update %s: %w", ref, context.Cause(ctx))
	}
	zero := strings.Repeat("0", max(len(to), len(from)))
	args := []string{"update-ref", "--no-deref", ref, cmp.Or(to, zero), cmp.Or(from, zero)}
	// A git that is killed here leaves the ref locked for good, and it needs milliseconds: the end of ctx waits for it.
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), staleLock)
	defer cancel()
	_, err := g.exec(whole, call{dir: d, args: args})
	if err == nil {
		return nil
	}
	have, readErr := g.readRef(ctx, d, ref)
	if readErr != nil && !errors.Is(readErr, ErrNotFound) {
		return errors.Join(fmt.Errorf("update %s: %w", ref, err), readErr)
	}
	if have != from {
		return fmt.Errorf("update %s: %w: it is at %q, not at %q", ref, ErrStale, have, from)
	}
	return fmt.Errorf("update %s: %w", ref, err)
}

// objectInfo describes an object without its content; kind is "" when it is missing.
type objectInfo struct {
	id, kind string
	size     int64
}

// stat looks objects up, in the order asked.
func (r *Repo) stat(ctx context.Context, ids []string) ([]objectInfo, error) {
	if err := checkIDs(ids...); err != nil {
		return nil, err
	}
	return r.infos(ctx, ids)
}

func (r *Repo) infos(ctx context.Context, names []string) ([]objectInfo, error) {
	infos := make([]objectInfo, len(names))
	return infos, r.objects(ctx, "info", names, 0, func(i int, o object) error {
		infos[i] = o.objectInfo
		return nil
	})
}
