package git

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// scratchAge is how old a throw-away directory is before it can be one of a process that has ended.
const scratchAge = time.Minute

// scratch makes a throw-away directory of this process. Those of processes that were killed are removed.
func scratch() (dir string, remove func() error, err error) {
	clearOnce.Do(clearScratch)
	if dir, err = os.MkdirTemp("", "divisi-git-"); err != nil {
		return "", nil, fmt.Errorf("make a temporary directory: %w", err)
	}
	held, err := holdDir(dir)
	if err != nil {
		_ = os.Remove(dir)
		return "", nil, fmt.Errorf("hold %s: %w", dir, err)
	}
	return dir, func() error {
		defer held.Close() // a handle
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove a temporary directory: %w", err)
		}
		return nil
	}, nil
}

var clearOnce sync.Once

// clearScratch removes what no process holds any more. What it cannot remove is in no way.
func clearScratch() {
	left, _ := filepath.Glob(filepath.Join(escapeGlob(os.TempDir()), "divisi-git-*")) // the pattern is well-formed
	for _, dir := range left {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < scratchAge {
			continue
		}
		if owner, known := OwnerOf(info); !known || owner != os.Geteuid() {
			continue
		}
		if held, err := holdDir(dir); err == nil {
			_ = os.RemoveAll(dir)
			_ = held.Close()
		}
	}
}
