package sandbox

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// hidden lists the paths that no command of this process may read.
var hidden struct {
	mu     sync.Mutex
	dirs   []string
	except []string
}

// Hide keeps every later command of this process from reading files below dir, but for what lies below the except paths
// and for what the command may write. Divisi hides its own state: who reads a run's credentials can write its log. All
// paths are absolute and exist. Where the machine cannot confine commands it has no effect.
func Hide(dir string, except ...string) error {
	found := make([]string, 0, 1+len(except))
	for _, path := range append([]string{dir}, except...) {
		target, err := filepath.EvalSymlinks(path)
		if err != nil {
			return fmt.Errorf("hide %s: %w", dir, err)
		}
		if !filepath.IsAbs(target) {
			return fmt.Errorf("hide %s: %w: %s is not absolute", dir, ErrInvalid, path)
		}
		found = append(found, target)
	}
	hidden.mu.Lock()
	defer hidden.mu.Unlock()
	if slices.Contains(hidden.dirs, found[0]) && len(found) == 1 {
		return nil // a program that executes several runs hides them once
	}
	hidden.dirs = append(hidden.dirs, found[0])
	hidden.except = append(hidden.except, found[1:]...)
	return nil
}

func whatIsHidden() (dirs, except []string) {
	hidden.mu.Lock()
	defer hidden.mu.Unlock()
	return slices.Clone(hidden.dirs), slices.Clone(hidden.except)
}

// above reports whether a path is a parent of one of the others.
func above(path string, others []string) bool {
	return slices.ContainsFunc(others, func(o string) bool {
		return strings.HasPrefix(o, strings.TrimSuffix(path, string(filepath.Separator))+string(filepath.Separator))
	})
}
