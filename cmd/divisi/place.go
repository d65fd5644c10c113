package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"divisi/internal/spec"
)

// checkDir refuses a --repo that is no directory.
func checkDir(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usagef("--repo %s: there is no such directory", path)
	case err != nil:
		return usagef("--repo: %v", err)
	case !info.IsDir():
		return usagef("--repo %s is not a directory", path)
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
