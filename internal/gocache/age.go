package gocache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"divisi/internal/lazyregexp"
)

const (
	// Fresh is how old the time of an entry may be that Renew leaves alone. The go command sets the time of an entry that it
	// reads when that is older than an hour: what is renewed as often is never so old.
	Fresh = 25 * time.Minute
	// marked is how old a mark of use may be before another one is made.
	marked = time.Hour
	// unused is how long entries stay that are not used, inUse how long those that Renew has renewed: a command may read them.
	unused = 5 * 24 * time.Hour
	inUse  = 2 * time.Hour
)

// file is the name of an entry, or of an output, in any cache in the format of the go command: linters keep one too.
var file = lazyregexp.New(`^[0-9a-f]{64}-[ad]$`)

// Renew lets the entries of the caches in a directory look fresh that do not: the go command sets the times of those that it
// reads, and in an overlay that would copy each. When an entry was used is known by its time of access.
func Renew(dir string, now time.Time) error {
	return walk(dir, func(root *os.Root, name string, info fs.FileInfo) error {
		if info.IsDir() || now.Sub(info.ModTime()) < Fresh {
			return nil
		}
		return root.Chtimes(name, time.Time{}, now)
	})
}

// Trim removes the entries of the caches in a directory that were not used for five days.
func Trim(dir string, now time.Time) error {
	return walk(dir, func(root *os.Root, name string, info fs.FileInfo) error {
		if now.Sub(lastUse(info)) < unused || now.Sub(info.ModTime()) < inUse {
			return nil
		}
		return root.RemoveAll(name)
	})
}

// walk visits the entries and outputs below a directory. Commands may have put anything there, and may change it meanwhile.
func walk(dir string, visit func(root *os.Root, name string, info fs.FileInfo) error) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open a build cache: %w", err)
	}
	defer root.Close() // a handle
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		var info fs.FileInfo
		entry := d != nil && file.MatchString(path.Base(name)) && (d.IsDir() || d.Type().IsRegular())
		if err == nil && entry {
			info, err = d.Info()
		}
		if err == nil && entry {
			err = visit(root, name, info)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			return nil // it was removed meanwhile, or is no cache's
		case err == nil && entry && d.IsDir():
			return fs.SkipDir // a program of "go run" or "go tool"
		}
		return err
	})
}

// use marks a file of a cache as used, as the go command does. Only when it goes depends on that.
func use(path string) {
	now := time.Now()
	if info, err := os.Stat(path); err == nil && now.Sub(lastUse(info)) > marked {
		_ = os.Chtimes(path, now, now)
	}
}

// Mark leaves a mark beside the caches in a directory, which Trim removes with what was used when it was left. A command may have
// put anything in its place.
func Mark(dir, key string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open a build cache: %w", err)
	}
	defer root.Close() // a handle
	if err := root.RemoveAll(key + "-a"); err != nil {
		return fmt.Errorf("remove an old mark: %w", err)
	}
	f, err := root.OpenFile(key+"-a", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("leave a mark: %w", err)
	}
	return f.Close()
}

// Marked reports whether a mark is still there.
func Marked(dir, key string) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close() // a handle
	_, err = root.Lstat(key + "-a")
	return err == nil
}
