// Package mirrors keeps one collection of commits for each repository on a machine that works for conductors elsewhere. In go
// the packs that a conductor sends, out come mirrors of commits. It asks for what a collection lacks alone, makes a damaged one
// again, and never removes one that a run uses. Any number of processes can share its directory.
package mirrors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"divisi/internal/git"
	"divisi/internal/sandbox"
)

// Limit bounds all collections together, in bytes. What runs use may be more.
const Limit = 20 << 30

// useLock is that of sandbox.LockCaches.
const useLock = ".lock"

// Store has the collections.
type Store struct {
	Git   *git.Git
	Dir   string // nothing else is in it
	Limit int64
	// Discard takes a directory away, whatever is in it.
	Discard func(dir string) error
	Clock   func() time.Time
	// Notice tells a person.
	Notice func(text string)
	// Remote is the URL of a repository that the owner of the machine has named: a commit comes from there, or what of it is
	// there. Empty for none.
	Remote string
}

// Kept lists the commits that the collection of a name keeps, the last one first: those whose ids are as long as a commit's. One
// that is not there, or is damaged, keeps none.
func (s *Store) Kept(ctx context.Context, name, commit string) ([]string, error) {
	dir := filepath.Join(s.Dir, name)
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	c, err := s.Git.OpenCollection(dir, commit)
	var kept []string
	if err == nil {
		defer c.Close()
		kept, err = c.Kept(ctx)
	}
	if errors.Is(err, git.ErrDamaged) || errors.Is(err, git.ErrPack) { // who uses it makes it again
		return nil, nil
	}
	return slices.DeleteFunc(kept, func(id string) bool { return len(id) != len(commit) }), err
}

// Tips lists the tips that the collection of a history has, at most those that a machine names.
func (s *Store) Tips(name string) ([]string, error) {
	tips, err := git.Tips(filepath.Join(s.Dir, name))
	return tips[max(0, len(tips)-git.MaxTips):], err
}

// collection is one in the list of all.
type collection struct {
	dir  string
	size int64
	used time.Time
}

// bound removes collections that no run uses, the one that was used longest ago first, while all together are too large.
func (s *Store) bound() error {
	all, err := s.list()
	if err != nil {
		return err
	}
	sum := int64(0)
	for _, c := range all {
		sum += c.size
	}
	for _, c := range all {
		if sum <= s.Limit {
			break
		}
		gone, err := s.drop(c.dir)
		if err != nil {
			return fmt.Errorf("remove the mirror %s: %w", c.dir, err)
		}
		if gone {
			sum -= c.size
		}
	}
	return nil
}

func (s *Store) drop(dir string) (gone bool, err error) {
	lock, err := sandbox.TryLock(dir + useLock)
	if err != nil || lock == nil {
		return false, err
	}
	defer lock.Close() // and with it the lock
	return true, errors.Join(s.Discard(dir), remove(dir+changeLock), os.Remove(lock.Name()))
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// list lists the collections, the one that was used longest ago first.
func (s *Store) list() ([]collection, error) {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return nil, fmt.Errorf("list the mirrors: %w", err)
	}
	var all []collection
	for _, e := range entries {
		if !e.IsDir() || strings.Contains(e.Name(), ".") {
			continue
		}
		c := collection{dir: filepath.Join(s.Dir, e.Name())}
		if info, err := os.Stat(c.dir + useLock); err == nil {
			c.used = info.ModTime()
		}
		if c.size, err = size(c.dir); err != nil {
			return nil, fmt.Errorf("measure the mirror %s: %w", c.dir, err)
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b collection) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.dir, b.dir)) })
	return all, nil
}

// size is how many bytes the files below a directory have. What goes away meanwhile has none.
func size(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil {
			info, err = e.Info()
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case info.Mode().IsRegular():
			n += info.Size()
		}
		return nil
	})
	return n, err
}
