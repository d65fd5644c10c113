package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Remove deletes a directory and all below it, whatever a command has left there: directories that may not be written, as
// tools' caches have them, and trees of any depth.
func Remove(dir string) error {
	if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
		return os.Remove(dir) // a link is not looked behind: it may lead to the whole machine
	}
	if !deeper(dir, maxDescriptors) {
		if err := os.RemoveAll(dir); err == nil {
			return nil
		}
	}
	return errors.Join(flatten(dir), os.RemoveAll(dir))
}

// maxDescriptors bounds the descriptors that removing one tree may take: os.RemoveAll holds one for each level.
const maxDescriptors = 64

// deeper reports whether a tree has more levels than most, or some that are too deep for a path. What cannot be listed has none.
func deeper(dir string, most int) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return errors.Is(err, syscall.ENAMETOOLONG)
	}
	for _, e := range entries {
		if e.IsDir() && (most == 0 || deeper(filepath.Join(dir, e.Name()), most-1)) {
			return true
		}
	}
	return false
}

// flatten empties a directory of all that lies deeper than in the directories in it: these are moved up, again and again, until
// none is left. However deep a tree is, it takes a few descriptors, and time by the number of its directories. It works through
// a root, so that no link leads out.
func flatten(dir string) error {
	root, err := openWritable(dir)
	if root == nil {
		return err
	}
	f := flattening{root: root, prefix: rand.Text()}
	return errors.Join(f.all(), root.Close())
}

// openWritable makes a directory writable and opens it; nil where there is none.
func openWritable(dir string) (*os.Root, error) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return nil, err
	}
	if err := os.Chmod(dir, info.Mode().Perm()|0o700); err != nil {
		return nil, fmt.Errorf("make %s writable: %w", dir, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	return root, nil
}

// flattening is the state of one flatten. What it moves gets names that no process could foresee.
type flattening struct {
	root   *os.Root
	prefix string
	moved  int
}

func (f *flattening) all() error {
	for {
		entries, err := fs.ReadDir(f.root.FS(), ".")
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, e := range entries {
			if e.IsDir() {
				err = f.raise(e.Name())
			}
			if err = errors.Join(err, f.root.RemoveAll(e.Name())); err != nil {
				return err
			}
		}
	}
}

// raise moves the directories in one to the top.
func (f *flattening) raise(dir string) error {
	if err := f.root.Chmod(dir, 0o700); err != nil {
		return err
	}
	entries, err := fs.ReadDir(f.root.FS(), dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		inner := filepath.Join(dir, e.Name())
		if err := f.root.Chmod(inner, 0o700); err != nil { // a directory that moves must be writable itself
			return err
		}
		f.moved++
		if err := f.root.Rename(inner, fmt.Sprintf("%s-%d", f.prefix, f.moved)); err != nil {
			return err
		}
	}
	return nil
}

// maxDepth bounds the trees that are set right in place: the time that takes grows with the square of it. Deeper ones are
// removed.
const maxDepth = 256

// unlock makes every directory at or below dir writable for its owner, and every file readable. It works through a root,
// so that no link, not even one that is put there meanwhile, leads out of dir.
func unlock(dir string) error {
	root, err := openWritable(dir)
	if root == nil {
		return err
	}
	return errors.Join(unlockBelow(root, "."), root.Close())
}

func unlockBelow(root *os.Root, dir string) error {
	if strings.Count(dir, "/") > maxDepth {
		return fmt.Errorf("make %.80s… writable: it is deeper than %d directories", dir, maxDepth)
	}
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return fmt.Errorf("make %s writable: %w", dir, err)
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		info, err := root.Lstat(name)
		if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
			continue
		}
		wanted := fs.FileMode(0o400)
		if info.IsDir() {
			wanted = 0o700
		}
		if info.Mode().Perm()&wanted != wanted {
			if err := root.Chmod(name, info.Mode().Perm()|wanted); err != nil {
				return fmt.Errorf("make %s writable: %w", name, err)
			}
		}
		if !info.IsDir() || name == dotGit { // which is made again as a whole
			continue
		}
		if err := unlockBelow(root, name); err != nil {
			return err
		}
	}
	return nil
}
