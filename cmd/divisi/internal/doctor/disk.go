package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"divisi/internal/text"
	"divisi/orchestrator/store"
)

// space is the free room of a file system; inodes is -1 where it does not count them.
type space struct {
	bytes  uint64
	inodes int64
}

// below reports whether less is free than a run needs.
func (s space) below(bytes uint64, inodes int64) bool {
	return s.bytes < bytes || s.inodes >= 0 && s.inodes < inodes
}

// What a run should find free: a work tree for each agent, and build caches.
const (
	littleDisk   = 2 << 30
	noDisk       = 200 << 20
	littleInodes = 100_000
	noInodes     = 5_000
)

func (o Options) checkDisk(context.Context) []Finding {
	dir, _, err := existing(o.Store.Path)
	if err != nil {
		return nil // checkState has reported it
	}
	free, ok := freeAt(dir)
	if !ok {
		return []Finding{warn("disk", "check that it has at least 2 GiB", "this system reports no free space of %s", dir)}
	}
	return []Finding{o.freeSpace(dir, free)}
}

func (o Options) freeSpace(dir string, free space) Finding {
	f := fine("disk", "%s free at %s", Bytes(free.bytes), dir)
	if free.inodes >= 0 {
		f.Seen += fmt.Sprintf(", and room for %d files", free.inodes)
	}
	switch {
	case free.below(noDisk, noInodes):
		f.Level = Problem
	case free.below(littleDisk, littleInodes):
		f.Level = Warning
	}
	if f.Level != OK {
		f.Do = "free some space (old runs are in " + o.Store.Runs() + "), or move the state with --state-dir"
	}
	return f
}

// checkState checks that the state directory can be written, and by this user alone.
func (o Options) checkState(context.Context) []Finding {
	dir, info, err := existing(o.Store.Path)
	if err != nil {
		return []Finding{bad("state", "choose a directory that you can write with --state-dir", "%v", err)}
	}
	probe, err := os.MkdirTemp(dir, ".divisi-doctor-")
	if err == nil {
		err = os.Remove(probe)
	}
	if err != nil {
		return []Finding{bad("state", "choose another one with --state-dir, or give yourself the right to write it",
			"the state directory cannot be written: %v", err)}
	}
	if dir != o.Store.Path {
		return []Finding{fine("state", "%s does not exist yet; it can be created in %s", o.Store.Path, dir)}
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return []Finding{warn("state", "chmod 700 "+text.Shell(dir),
			"other users can read %s (mode %04o): it holds the words of models and commands", dir, mode)}
	}
	return []Finding{fine("state", "only you can read and write %s", dir)}
}

// existing returns a path, or the nearest directory above it that exists.
func existing(path string) (string, fs.FileInfo, error) {
	for dir := path; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case err == nil && !info.IsDir():
			return "", nil, fmt.Errorf("%s is not a directory", dir)
		case err == nil:
			return dir, info, nil
		case !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir):
			return "", nil, fmt.Errorf("cannot check the state directory: %w", err)
		}
	}
}

// sizeTime bounds how long the size of a directory is counted.
const sizeTime = 2 * time.Second

// checkCaches reports how much disk the caches use, and what the next run removes.
func (o Options) checkCaches(ctx context.Context) []Finding {
	entries, err := os.ReadDir(o.Store.Caches())
	if err != nil && !os.IsNotExist(err) {
		return []Finding{bad("caches", "choose a directory that you can read with --state-dir", "%v", err)}
	}
	repositories := 0
	for _, e := range entries {
		if e.IsDir() {
			repositories++
		}
	}
	found := []Finding{fine("caches", "%d in %s, one for each repository, %s; a run removes those unused for 30 days",
		repositories, o.Store.Caches(), sizeOf(ctx, o.Store.Caches()))}
	if left, err := os.ReadDir(o.Store.Trash()); err == nil && len(left) > 0 {
		found = append(found, fine("trash", "%s in %s; the next run removes it", sizeOf(ctx, o.Store.Trash()), o.Store.Trash()))
	}
	return found
}

// sizeOf words the size of the files below a directory.
func sizeOf(ctx context.Context, dir string) string {
	ctx, cancel := context.WithTimeout(ctx, sizeTime)
	defer cancel()
	size, err := store.BytesBelow(ctx, dir)
	if err != nil {
		return "more than " + Bytes(size)
	}
	return Bytes(size)
}

// Bytes words a size.
func Bytes(n uint64) string {
	if n >= 1<<30 {
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
