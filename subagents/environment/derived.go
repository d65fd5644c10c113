package environment

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Names of ignored files and directories that hold dependencies, or what a tool makes again by itself when its sources change: no
// old content of them is taken for the result of the sources.
var (
	dependencies = strings.Fields(`node_modules .venv venv env vendor dep deps bower_components .yarn .pnp.cjs .pnp.loader.mjs
		.pnpm-store .bundle target .gradle .gitignore`)
	selfChecked = strings.Fields(`__pycache__ .pytest_cache .mypy_cache .ruff_cache .tox .nox .turbo .nx .parcel-cache .cache
		.eslintcache .stylelintcache .hypothesis .coverage coverage .nyc_output .idea .vscode .DS_Store`)
	selfCheckedEnds = []string{".egg-info", ".dist-info", ".pyc", ".pth", ".tsbuildinfo", ".log", ".lock"}
	// lockFiles are written by package managers, beside those that end with .lock.
	lockFiles = strings.Fields(`package-lock.json npm-shrinkwrap.json pnpm-lock.yaml bun.lockb go.sum go.work.sum
		gradle.lockfile`)
)

// Derived are its places and files that are made from tracked files: those that a list of globs names, where it is not nil, and
// else those that are neither dependencies nor checked by the tool that uses them.
func (e *Environment) Derived(globs []string) (derived []string) {
	for _, name := range slices.Sorted(slices.Values(slices.Concat(e.Places, e.Files))) {
		named := slices.ContainsFunc(globs, func(glob string) bool {
			return doublestar.MatchUnvalidated(strings.TrimSuffix(glob, "/"), name) || strings.HasPrefix(glob, name+"/")
		})
		if named || globs == nil && guessed(name) {
			derived = append(derived, name)
		}
	}
	return derived
}

func guessed(name string) bool {
	base := path.Base(name)
	return !slices.Contains(dependencies, base) && !slices.Contains(selfChecked, base) && !slices.Contains(lockFiles, base) &&
		!slices.ContainsFunc(selfCheckedEnds, func(end string) bool { return strings.HasSuffix(base, end) }) &&
		!strings.Contains("/"+name+"/", "/vendor/") && !strings.Contains("/"+name+"/", "/node_modules/") &&
		!strings.Contains("/"+name+"/", "/.yarn/")
}

// Up to how many entries and bytes a directory that a build makes is copied into each tree. Many builds begin with removing it,
// and a layer cannot be removed.
const (
	maxCopied      = 1000
	maxCopiedBytes = 32 << 20
)

// copySmall has such directories copied, where they are small.
func (m *Making) copySmall() error {
	places := m.manifest.Places
	m.manifest.Places = nil
	for _, name := range places {
		small, err := guessed(name), error(nil)
		if small {
			small, err = isSmall(filepath.Join(m.Dir, treeDir, filepath.FromSlash(name)))
		}
		if err != nil {
			return fmt.Errorf("inspect %s: %w", name, err)
		}
		if small {
			m.manifest.Files = append(m.manifest.Files, name)
		} else {
			m.manifest.Places = append(m.manifest.Places, name)
		}
	}
	slices.Sort(m.manifest.Files)
	return nil
}

func isSmall(dir string) (bool, error) {
	entries, size, large := 0, int64(0), errors.New("too large")
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		entries, size = entries+1, size+info.Size()
		if entries > maxCopied || size > maxCopiedBytes {
			return large
		}
		return nil
	})
	if errors.Is(err, large) {
		return false, nil
	}
	return err == nil, err
}
