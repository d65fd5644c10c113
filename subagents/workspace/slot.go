package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"divisi/internal/git"
	"divisi/internal/sandbox"
)

// Slot is one work tree with a git directory of its own. Its methods may be called from several goroutines; they take
// turns.
type Slot struct {
	pool   *Pool
	git    *git.Git
	mirror *git.Repo
	name   string
	dir    string
	gitDir string
	held   atomic.Bool
	// shared reports whether another process may write the work tree at any moment.
	shared atomic.Bool

	mu sync.Mutex
	// repo is nil until the slot is built, and again when it is broken.
	repo *git.Repo
	// ruined is set when the tree could not be collected: the next reset rebuilds the slot.
	ruined bool
}

// Name returns the slot's name in its pool.
func (s *Slot) Name() string { return s.name }

// Dir returns the top of the work tree. It exists after the first Reset.
func (s *Slot) Dir() string { return s.dir }

// GitDir returns the slot's git directory, outside the work tree. Agents may read it, never write it.
func (s *Slot) GitDir() string { return s.gitDir }

// Borrowed returns the object directory that the slot reads from beside its own.
func (s *Slot) Borrowed() string { return s.mirror.Objects() }

// GitEnv is what an agent's own git needs to show status, diffs and the like in the work tree.
func (s *Slot) GitEnv() []string {
	return []string{"GIT_DIR=" + s.gitDir, "GIT_WORK_TREE=" + sandbox.TreePath(s.dir), "GIT_OPTIONAL_LOCKS=0"}
}

func (s *Slot) at() git.Dir { return git.Dir{GitDir: s.gitDir, WorkTree: s.dir} }

// Reset makes the work tree hold exactly a commit of the mirror: changes, untracked and ignored files, and repositories
// within go away. No process may be working in the slot. A slot that cannot be reset, that differs from the commit afterwards, or
// that could not be collected before is rebuilt.
func (s *Slot) Reset(ctx context.Context, commit string) error {
	if !git.ValidID(commit) {
		return fmt.Errorf("reset %s to %q: %w", s.name, commit, git.ErrBadName)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var first error
	if s.repo != nil && !s.ruined {
		if first = s.reset(ctx, commit); first == nil {
			return nil
		}
		s.repo = nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("reset %s to %s: %w", s.name, commit, context.Cause(ctx))
	}
	err := s.build()
	if err == nil {
		err = s.reset(ctx, commit)
	}
	if err != nil {
		s.repo = nil
		return fmt.Errorf("reset %s to %s: %w", s.name, commit, errors.Join(err, first))
	}
	return nil
}

// build makes the slot anew.
func (s *Slot) build() error {
	if err := errors.Join(Remove(s.dir), Remove(s.gitDir)); err != nil {
		return err
	}
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		return err
	}
	repo, err := s.git.Borrow(s.gitDir, s.mirror)
	if err != nil {
		return err
	}
	s.repo, s.ruined = repo, false
	return nil
}

// reset does it in a slot that is built. The tree is tidied once more with all directories writable when git cannot.
func (s *Slot) reset(ctx context.Context, commit string) error {
	err := s.checkout(ctx, commit)
	if err != nil && ctx.Err() == nil {
		if err = errors.Join(unlock(s.dir), s.dropLock()); err == nil {
			err = s.checkout(ctx, commit)
		}
	}
	if err != nil {
		return err
	}
	if err := tidy(s.dir); err != nil {
		return err
	}
	if err := s.setHead(commit); err != nil {
		return err
	}
	return s.dropObjects()
}

// checkout cleans first: what an earlier attempt left must not take part in the writing of files.
func (s *Slot) checkout(ctx context.Context, commit string) error {
	if info, err := os.Lstat(s.dir); err != nil || !info.IsDir() {
		return fmt.Errorf("the work tree %s is gone", s.dir)
	}
	if _, err := s.git.Run(ctx, s.at(), nil, "clean", "-ffdxq"); err != nil {
		return err
	}
	if _, err := s.git.Run(ctx, s.at(), nil, "read-tree", "-u", "--reset", commit); err != nil {
		return err
	}
	if err := s.emptySubmodules(ctx); err != nil {
		return err
	}
	return s.compare(ctx, commit)
}

// Restore puts a work tree that Reset made back to its commit where files that the commit does not ignore have changed since, and
// returns the paths of those that git shows. Ignored files stay; lists of ignored files that the commit does not have,
// repositories, and what is in the places of submodules go: git would step around what they hide. A tree that cannot be put back
// is made anew.
func (s *Slot) Restore(ctx context.Context, commit string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.repo == nil {
		return nil, ErrNotReset
	}
	changed, err := s.restore(ctx, commit)
	if err == nil || ctx.Err() != nil {
		return changed, err
	}
	if err = errors.Join(s.build(), s.reset(ctx, commit)); err != nil { // whatever was done to it
		s.repo = nil
		return nil, fmt.Errorf("restore %s: %w", s.name, err)
	}
	return changed, nil
}

func (s *Slot) restore(ctx context.Context, commit string) ([]string, error) {
	if err := errors.Join(tidy(s.dir), s.emptySubmodules(ctx)); err != nil {
		return nil, err
	}
	changed, err := s.changed(ctx, "--exclude-standard")
	if err != nil {
		return nil, err
	}
	hiding, err := s.dropNewIgnores(ctx)
	if err != nil || len(changed) == 0 && !hiding {
		return nil, err
	}
	for _, args := range [][]string{{"read-tree", "-u", "--reset", commit}, {"clean", "-ffdq"}} {
		if _, err := s.git.Run(ctx, s.at(), nil, args...); err != nil {
			return changed, fmt.Errorf("restore %s: %w", s.name, err)
		}
	}
	left, err := s.changed(ctx, "--exclude-standard")
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("restore %s: %q still differs from %s", s.name, left[0], commit)
	}
	return changed, err
}

// dropNewIgnores removes every .gitignore that is not of the commit, and reports whether there was one. It can hide itself.
func (s *Slot) dropNewIgnores(ctx context.Context) (found bool, err error) {
	out, err := s.git.Run(ctx, s.at(), nil, "ls-files", "-z", "-o")
	if err != nil {
		return false, err
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return false, fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // a handle
	for name := range strings.SplitSeq(string(out), "\x00") {
		if path.Base(name) != ".gitignore" {
			continue
		}
		if err := root.Remove(filepath.FromSlash(name)); err != nil {
			return false, fmt.Errorf("remove %s: %w", name, err)
		}
		found = true
	}
	return found, nil
}

// changed lists what differs from the index.
func (s *Slot) changed(ctx context.Context, more ...string) ([]string, error) {
	out, err := s.git.Run(ctx, s.at(), nil, append([]string{"ls-files", "-z", "-m", "-d", "-o"}, more...)...)
	paths := strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
	slices.Sort(paths)
	return slices.Compact(paths), err
}

// compare returns an error where the work tree differs from the commit that the index was just read from, ignored files included.
func (s *Slot) compare(ctx context.Context, commit string) error {
	differs, err := s.changed(ctx)
	if err == nil && len(differs) > 0 {
		err = fmt.Errorf("the work tree differs from %s after a reset, in %q", commit, differs[0])
	}
	return err
}

// dropLock removes the lock of a git that was killed.
func (s *Slot) dropLock() error {
	return os.RemoveAll(filepath.Join(s.gitDir, "index.lock"))
}

// setHead makes the commit the HEAD that an agent's git sees. The old file is deleted first: some file systems write
// everything out when a file replaces another.
func (s *Slot) setHead(commit string) error {
	path := filepath.Join(s.gitDir, "HEAD")
	if data, err := os.ReadFile(path); err == nil && string(data) == commit+"\n" {
		return nil
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(commit+"\n"), 0o644)
}

// dropObjects deletes what earlier attempts wrote: after a reset, everything that is needed is in the mirror.
func (s *Slot) dropObjects() error {
	entries, err := os.ReadDir(s.repo.Objects())
	if err != nil {
		return err
	}
	for _, e := range entries {
		if len(e.Name()) != 2 || strings.Trim(e.Name(), "0123456789abcdef") != "" {
			continue
		}
		if err := Remove(filepath.Join(s.repo.Objects(), e.Name())); err != nil {
			return err
		}
	}
	return nil
}
