package mirrors

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"divisi/internal/git"
	"divisi/internal/sandbox"
)

const (
	// changeLock is the ending of the lock of who changes a collection; poll is how often it is tried to become that.
	changeLock = ".change"
	poll       = 50 * time.Millisecond
)

// Source has take read a pack of a commit, whole and without its history: what a repository lacks that has the commits in have.
// An error of its own it returns as it is, not what take made of it.
type Source func(ctx context.Context, commit string, have []string, take func(ctx context.Context, pack io.Reader) error) error

// Mirror is one to be made: of a commit, at a place, with the lists of what is ignored.
type Mirror struct {
	Dir, Commit string
	Exclude     []byte
}

// Held is the collection of a repository, which stays until Close.
type Held struct {
	store   *Store
	dir     string
	release func()
}

// Open holds the collection of a name and makes a mirror of it, which does not need it any more. The collection gets the commit
// where it lacks it; one that is damaged is made again.
func (s *Store) Open(ctx context.Context, name string, m Mirror, from Source) (*Held, *git.Repo, error) {
	h, err := s.hold(name)
	if err != nil {
		return nil, nil, err
	}
	var r *git.Repo
	err = h.change(ctx, func() (err error) {
		r, err = h.try(ctx, &m, from)
		return err
	})
	if err != nil {
		h.release()
		return nil, nil, fmt.Errorf("bring %s to the mirror %s: %w", m.Commit, name, err)
	}
	if err := s.bound(); err != nil {
		s.Notice(fmt.Sprintf("the mirrors in %s may take more than they should: %v", s.Dir, err))
	}
	return h, r, nil
}

func (s *Store) hold(name string) (h *Held, err error) {
	h = &Held{store: s, dir: filepath.Join(s.Dir, name)}
	if h.release, err = sandbox.LockCaches(h.dir); err != nil {
		return nil, fmt.Errorf("use the mirror %s: %w", name, err)
	}
	return h, nil
}

// change has try change the collection, and once more from nothing where that is damaged.
func (h *Held) change(ctx context.Context, try func() error) error {
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	_, err = os.Lstat(h.dir)
	fresh := errors.Is(err, fs.ErrNotExist)
	err = try()
	if fresh || !errors.Is(err, git.ErrPack) && !errors.Is(err, git.ErrDamaged) {
		return err
	}
	h.store.Notice(fmt.Sprintf("the mirror %s is made again: %v", h.dir, err))
	if err := h.store.Discard(h.dir); err != nil {
		return err
	}
	return try()
}

// PastName is the name of the collection of the history of a repository, which begins at a cut.
func PastName(name, cut string) string { return name + "-history-" + cut }

// Past has the directory p.Commits have the history of a base, which does not need the collection any more that it comes from.
// That gets from the source what it lacks; one that is damaged is made again.
func (s *Store) Past(ctx context.Context, name, base string, p git.Past, from Source) error {
	h, err := s.hold(PastName(name, p.Cut()))
	if err != nil {
		return err
	}
	err = h.change(ctx, func() error {
		return s.Git.Bring(ctx, base, p, h.dir, func(
			ctx context.Context, have []string, take func(context.Context, io.Reader) error,
		) error {
			return from(ctx, base, have, take)
		})
	})
	return errors.Join(err, h.Close())
}

func (h *Held) try(ctx context.Context, m *Mirror, from Source) (*git.Repo, error) {
	c, err := h.store.Git.OpenCollection(h.dir, m.Commit)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.Tidy(ctx); err != nil {
		return nil, err
	}
	whole, err := c.Whole(ctx, m.Commit)
	if err == nil && !whole && h.store.Remote != "" {
		h.fetch(ctx, c, m.Commit)
		whole, err = c.Whole(ctx, m.Commit)
	}
	if err == nil && !whole {
		err = h.ask(ctx, c, m.Commit, from)
	}
	if err == nil {
		err = c.Keep(ctx, m.Commit, h.store.Clock())
	}
	if err != nil {
		return nil, err
	}
	return c.Mirror(ctx, m.Dir, m.Commit, m.Exclude)
}

// fetch has the collection keep the commit from the remote, or else the newest of its main branch: then less has to travel. What
// cannot be had there comes from the source.
func (h *Held) fetch(ctx context.Context, c *git.Collection, commit string) {
	var all error
	for _, what := range []string{commit, "HEAD"} {
		got, err := c.Fetch(ctx, h.store.Remote, what)
		if err == nil {
			err = c.Keep(ctx, got, h.store.Clock())
		}
		if err == nil {
			return
		}
		all = errors.Join(all, err)
	}
	h.store.Notice(fmt.Sprintf("the remote of the repository has neither the commit nor a main branch, which come from the "+
		"conductor then: %v", all))
}

func (h *Held) ask(ctx context.Context, c *git.Collection, commit string, from Source) error {
	have, err := c.Kept(ctx)
	if err == nil && slices.Contains(have, commit) {
		err = fmt.Errorf("%w: it has lost %s", git.ErrDamaged, commit)
	}
	if err != nil {
		return err
	}
	err = from(ctx, commit, have, func(ctx context.Context, pack io.Reader) error { return c.Receive(ctx, commit, pack) })
	if err != nil {
		return err
	}
	whole, err := c.Whole(ctx, commit)
	if err == nil && !whole {
		err = fmt.Errorf("%w: it does not have %s, which it received", git.ErrDamaged, commit)
	}
	return err
}

// Leave has the collection keep commits that a mirror of it got since, for the runs to come.
func (h *Held) Leave(ctx context.Context, from *git.Repo, commits ...string) error {
	if len(commits) == 0 {
		return nil
	}
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	c, err := h.store.Git.OpenCollection(h.dir, from.Base())
	if err != nil {
		return err
	}
	defer c.Close()
	err = c.Take(ctx, from, commits...)
	for _, commit := range commits {
		if err == nil {
			err = c.Keep(ctx, commit, h.store.Clock())
		}
	}
	return err
}

// lock makes the caller the one who changes the collection.
func (h *Held) lock(ctx context.Context) (unlock func(), err error) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		lock, err := sandbox.TryLock(h.dir + changeLock)
		if err != nil {
			return nil, fmt.Errorf("lock the mirror %s: %w", h.dir, err)
		}
		if lock != nil {
			return func() { _ = lock.Close() }, nil // and with it the lock
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the mirror %s: %w", h.dir, context.Cause(ctx))
		}
	}
}

// Close gives the collection up.
func (h *Held) Close() error {
	h.release()
	return h.store.bound()
}
