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
// configuration are the repository's, wherever in it the command was started.
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
