package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// LockCaches marks the caches of one repository as used now, and keeps DropCaches from them until release is called, or the
// process ends. The directory need not exist.
func LockCaches(dir string) (release func(), err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, fmt.Errorf("make the caches: %w", err)
	}
	for {
		f, err := lockFile(dir+".lock", true, true)
		if err != nil {
			return nil, err
		}
		now := time.Now()
		err = os.Chtimes(f.Name(), now, now)
		if err == nil && current(f) {
			return func() { _ = f.Close() }, nil // and with it the lock
		}
		_ = f.Close() // the caches were dropped meanwhile, and the lock with them
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("mark the caches as used: %w", err)
		}
	}
}

// current reports whether an open file is still the one of its name.
func current(f *Lock) bool {
	mine, err := f.Stat()
	named, namedErr := os.Stat(f.Name())
	return errors.Join(err, namedErr) == nil && os.SameFile(mine, named)
}

// DropCaches calls drop, which takes a directory away, for the caches below base that no process holds and none has held since
// unused. Caches that were for all repositories, as they once were, are dropped whatever their age.
func DropCaches(base string, unused time.Time, drop func(dir string) error) error {
	entries, err := os.ReadDir(base)
	if runtime.GOOS == "windows" { // without locks it cannot be known which are in use
		return nil
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		if e.IsDir() {
			errs = append(errs, dropOne(filepath.Join(base, e.Name()), unused, drop))
		}
	}
	return errors.Join(errs...)
}

func dropOne(dir string, unused time.Time, drop func(string) error) error {
	f, err := TryLock(dir + ".lock")
	if err != nil || f == nil {
		return err
	}
	defer f.Close() // and with it the lock
	info, err := f.Stat()
	if err != nil {
		return err
	}
	name := filepath.Base(dir)
	if name != string(Agents) && name != string(Gates) && info.ModTime().After(unused) {
		return nil
	}
	return errors.Join(drop(dir), os.Remove(f.Name()))
}

// setupDirs are the caches that a setup fills and that the commands after it may need.
var setupDirs = []string{"downloads", "modules", string(Gates) + "/" + xdg}

// Downloaded lists what the caches have that setups fill, two levels deep: enough to notice that a cache was removed.
func (c Caches) Downloaded() (names []string, err error) {
	for _, dir := range setupDirs {
		for _, pattern := range []string{"*", "*/*"} {
			found, err := fs.Glob(os.DirFS(c.Dir), dir+"/"+pattern)
			if err != nil {
				return nil, fmt.Errorf("list the files of setup: %w", err)
			}
			names = append(names, found...)
		}
	}
	return names, nil
}

// Lock is a file that its holder has locked.
type Lock struct{ *os.File }

// Close drops the lock at once, and closes the file: a program that is being started here has the open file too until it begins.
func (l *Lock) Close() error { return errors.Join(l.unlock(), l.File.Close()) }

// TryLock locks a file for one holder alone until it is closed, and returns nil when there is another. The holder may remove the
// file before it closes it.
func TryLock(path string) (*Lock, error) {
	for {
		f, err := lockFile(path, false, false)
		if errors.Is(err, errHeld) {
			return nil, nil
		}
		if err != nil || current(f) {
			return f, err
		}
		_ = f.Close() // its last holder has removed it
	}
}

// errHeld reports a lock that another process has.
var errHeld = errors.New("in use")
