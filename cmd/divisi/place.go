package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"divisi/contextscope/memory"
	"divisi/internal/spec"
)

// checkDir refuses a --repo that is no directory.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usagef("--repo %s: there is no such directory", dir)
	case err != nil:
		return usagef("--repo: %v", err)
	case !info.IsDir():
		return usagef("--repo %s is not a directory", dir)
	}
	return nil
}

// top returns the top of the repository that a directory is in, and the directory itself where there is none: roles and
// configuration are the repository's, wherever in it a person stands.
func top(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	for dir := abs; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return path
		}
	}
}

// nearest words the suggestion for a name that does not exist; it is empty where nothing is near.
func nearest(name string, known []string) string {
	if n := spec.Nearest(name, known); n != "" {
		return fmt.Sprintf(" (did you mean %q?)", n)
	}
	return ""
}

// without returns the paths below dir that are none of the named files.
func without(paths []string, dir string, files []string) []string {
	named := map[string]bool{}
	for _, f := range files {
		abs, err := filepath.Abs(f)
		if err != nil || f == "" {
			continue
		}
		if parent, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
			abs = filepath.Join(parent, filepath.Base(abs))
		}
		named[abs] = true
	}
	var out []string
	for _, p := range paths {
		if !named[filepath.Join(dir, p)] {
			out = append(out, p)
		}
	}
	return out
}

// ownPlaces are where Divisi reads the checkout itself, committed or not: what lies there is not left behind by a run.
var ownPlaces = []string{path.Dir(memory.Place), ".claude/agents", ".gemini/agents"}

// withoutOwn leaves those places out of paths; git names a directory without tracked files by itself.
func withoutOwn(paths []string, dir string) []string {
	return slices.DeleteFunc(paths, func(p string) bool {
		return slices.ContainsFunc(ownPlaces, func(own string) bool {
			if strings.HasPrefix(p, own+"/") {
				return true
			}
			entries, err := os.ReadDir(filepath.Join(dir, p))
			return p == path.Dir(own)+"/" && err == nil && len(entries) == 1 && entries[0].Name() == path.Base(own)
		})
	})
}

// makeDir makes a run's directory, which must be new unless it was made for a trial.
func makeDir(dir string, exists bool) error {
	err := os.MkdirAll(filepath.Dir(dir), 0o700)
	if err == nil && !exists {
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("make the run's directory: %w", err)
	}
	return nil
}
