package environment

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
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
// else its Copies and those that are neither dependencies nor checked by the tool that uses them.
func (e *Environment) Derived(globs []string) (derived []string) {
	for _, name := range slices.Sorted(slices.Values(slices.Concat(e.Places, e.Files))) {
		named := slices.ContainsFunc(globs, func(glob string) bool {
			return doublestar.MatchUnvalidated(strings.TrimSuffix(glob, "/"), name) || strings.HasPrefix(glob, name+"/")
		})
		if named || globs == nil && (guessed(name) || slices.Contains(e.Copies, name)) {
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

// maxInstalled bounds, in bytes, the file in which Python's installers write where a package came from.
const maxInstalled = 64 << 10

// installed notes the place of a Python package that was copied out of the tree: tests would import the copy, which no patch
// changes.
func (m *Making) installed(name, file string, info fs.FileInfo) {
	dir, base := path.Split(name)
	if base != "direct_url.json" || !info.Mode().IsRegular() || info.Size() > maxInstalled {
		return
	}
	var from struct {
		URL string `json:"url"`
		Dir *struct {
			Editable bool `json:"editable"`
		} `json:"dir_info"`
	}
	data, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(data, &from) != nil || from.Dir == nil || from.Dir.Editable {
		return // it is an archive's or another tool's
	}
	source := strings.TrimPrefix(from.URL, "file://")
	if !slices.ContainsFunc(m.tops, func(top string) bool { return within(source, top) }) {
		return
	}
	for _, place := range m.manifest.Places {
		if !within(name, treeDir+"/"+place) || slices.Contains(m.manifest.Copies, place) {
			continue
		}
		m.manifest.Copies = append(m.manifest.Copies, place)
		m.Note(fmt.Sprintf("%s has a copy of the tree's own package (%s), which no patch changes: have setup install it with "+
			"-e, or regenerate install it again", place, strings.TrimSuffix(path.Base(dir), ".dist-info")))
	}
}
