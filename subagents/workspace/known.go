package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"divisi/internal/git"
	"divisi/internal/text"
)

// stamp changes when something is created, removed or renamed in a directory, or its mode changes. No process can set it. The
// zero stamp is no directory's.
type stamp struct {
	changed int64
	inode   uint64
}

const (
	// tick is longer than the clock of a file system stands still: two changes within a tick may leave the same stamp.
	tick = 100 * time.Millisecond
	// maxTouched is how many directories are listed for themselves. Of a tree that has no more git lists all at once.
	maxTouched = 128
)

// touched lists the directories that have changed since the last reset. Files that are not in the index can be at and below these
// alone. The top of the tree, ".", stands for all.
func (s *Slot) touched() []string {
	if len(s.known) == 0 {
		return []string{"."}
	}
	changed := map[string]bool{}
	for dir, was := range s.known {
		info, err := os.Lstat(filepath.Join(s.dir, dir))
		changed[dir] = err != nil || was == stamp{} || stampOf(info) != was
	}
	maps.DeleteFunc(changed, func(dir string, is bool) bool {
		for up := dir; is && up != "."; {
			up = path.Dir(up)
			is = !changed[up]
		}
		return !is
	})
	if len(changed) > maxTouched {
		return []string{"."}
	}
	return slices.Sorted(maps.Keys(changed))
}

// tidy sets right what git's own reset leaves as it is at and below dirs: everything named .git is deleted, because git steps
// around such names and a repository planted in a tracked directory would stay, and so are pipes and the like; and directories
// are made writable again.
func (s *Slot) tidy(dirs []string) error {
	return s.eachDir(dirs, func(string, fs.FileInfo) {})
}

// know tidies the directories, which have no other files than the index, and notes their stamps.
func (s *Slot) know(dirs []string) error {
	before := time.Now().Add(-tick).UnixNano()
	maps.DeleteFunc(s.known, func(dir string, _ stamp) bool {
		return slices.ContainsFunc(dirs, func(top string) bool {
			return top == "." || dir == top || strings.HasPrefix(dir, top+"/")
		})
	})
	return s.eachDir(dirs, func(dir string, info fs.FileInfo) {
		is := stampOf(info)
		if is.changed > before {
			is = stamp{}
		}
		s.known[dir] = is
	})
}

// eachDir tidies and calls visit with every directory as it was before.
func (s *Slot) eachDir(dirs []string, visit func(dir string, info fs.FileInfo)) error {
	for _, top := range dirs {
		err := filepath.WalkDir(filepath.Join(s.dir, top), func(name string, d fs.DirEntry, err error) error {
			rel, outside := filepath.Rel(s.dir, name)
			switch {
			case s.laid(filepath.ToSlash(rel)):
				return skip(d)
			case s.isDotGit(name):
				return skip(d)
			case errors.Is(err, fs.ErrNotExist) && d == nil:
				return nil // it was removed
			case err != nil:
				return err
			case strings.EqualFold(d.Name(), ".git") && name != s.dir:
				return dropRepository(name, d)
			case special(d.Type()):
				return Remove(name)
			case !d.IsDir():
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if outside != nil {
				return outside
			}
			visit(filepath.ToSlash(rel), info)
			if info.Mode().Perm()&0o700 == 0o700 {
				return nil
			}
			return os.Chmod(name, info.Mode().Perm()|0o700)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropPipes removes what has the name of a file that git obeys and is none, at and below dirs: git would wait for a pipe for
// ever. The error is a *ContentError where a path is too long to be read: git passes over it, unless it is ignored.
func (s *Slot) dropPipes(ctx context.Context, dirs []string) error {
	deep := ""
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // a handle
	for _, top := range dirs {
		err := filepath.WalkDir(filepath.Join(s.dir, top), func(name string, d fs.DirEntry, err error) error {
			rel, outside := filepath.Rel(s.dir, name)
			switch {
			case errors.Is(err, syscall.ENAMETOOLONG) && !s.laid(filepath.ToSlash(rel)):
				deep = rel
				return skip(d)
			case err != nil || outside != nil || s.laid(filepath.ToSlash(rel)) || s.isDotGit(name):
				return skip(d) // git meets what cannot be read, and reports why
			case special(d.Type()) && slices.Contains(obeyed, strings.ToLower(d.Name())):
				if err := root.Remove(rel); !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("remove a pipe: %w", err)
		}
	}
	if deep == "" {
		return nil
	}
	above := path.Dir(text.Head(filepath.ToSlash(deep), git.MaxPath/2))
	shown, err := s.look(ctx, "", "ls-files", "-z", "-o", "--exclude-standard", "--directory", "--", above)
	if err == nil && len(shown) > 0 {
		err = &ContentError{Why: fmt.Sprintf(
			"the path %s is too long to be read (%d bytes; %d are allowed): make it shorter, or remove it",
			text.Clip(deep, text.MaxLine), len(deep), git.MaxPath)}
	}
	return err
}

func dropRepository(name string, d fs.DirEntry) error {
	if err := Remove(name); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return skip(d)
}

// skip has a walk continue behind an entry.
func skip(d fs.DirEntry) error {
	if d != nil && d.IsDir() {
		return fs.SkipDir
	}
	return nil
}
