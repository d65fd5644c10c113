package environment

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Names of ignored files and directories that hold dependencies, or what a tool makes again by itself when its sources change: no
// old content of them is taken for the result of the sources.
var (
	dependencies = []string{
		"node_modules", ".venv", "venv", "env", "vendor", "bower_components", ".yarn", ".pnp.cjs", ".pnp.loader.mjs",
		".pnpm-store", ".bundle", "target", ".gradle", ".gitignore",
	}
	selfChecked = []string{
		"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox", ".nox", ".turbo", ".nx", ".parcel-cache", ".cache",
		".eslintcache", ".stylelintcache", ".hypothesis", ".coverage", "coverage", ".nyc_output", ".idea", ".vscode", ".DS_Store",
	}
	selfCheckedEnds = []string{".egg-info", ".dist-info", ".pyc", ".tsbuildinfo", ".log", ".lock"}
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
	return !slices.Contains(dependencies, base) && !slices.Contains(selfChecked, base) &&
		!slices.ContainsFunc(selfCheckedEnds, func(end string) bool { return strings.HasSuffix(base, end) }) &&
		!strings.Contains("/"+name+"/", "/vendor/") && !strings.Contains("/"+name+"/", "/node_modules/") &&
		!strings.Contains("/"+name+"/", "/.yarn/")
}
