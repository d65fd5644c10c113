package plan

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"divisi/internal/spec"
)

// moduleFiles are files that make their directory a module, with everything below it that has none of its own.
var moduleFiles = []string{
	"go.mod", "package.json", "Cargo.toml", "pyproject.toml", "pom.xml",
}

// modules are the directories of a tree that are modules.
type modules map[string]bool

func newModules(files []string, markers ...string) modules {
	m := modules{}
	for _, f := range files {
		if slices.Contains(markers, path.Base(f)) {
			m[path.Dir(f)] = true
		}
	}
	return m
}

// of returns the module that a directory belongs to; "" for none.
func (m modules) of(dir string) string {
	for ; !m[dir]; dir = path.Dir(dir) {
		if dir == "." {
			return ""
		}
	}
	return dir
}

// split sorts files by their modules.
func (m modules) split(files []string) [][]string {
	return grouped(files, func(f string) string { return m.of(path.Dir(f)) })
}

// ungated returns a note on each Go module that tasks write in and that no gate's command names. What a script does that a gate
// starts is not known.
func ungated(tasks []spec.Task, roles map[string]spec.Role, gates []spec.Gate, files []string) []string {
	if len(gates) == 0 {
		return nil
	}
	m := newModules(files, "go.mod")
	written := map[string]bool{}
	for _, t := range tasks {
		if role := roles[t.Role]; !role.ChangesFiles() {
			continue
		}
		for _, entry := range t.Files {
			dir := entry
			if fixed := spec.FixedPrefix(entry); fixed != entry {
				dir = fixed + "x" // what the glob names lies in the directory of its fixed part
			}
			if !m[dir] {
				dir = path.Dir(dir)
			}
			written[m.of(dir)] = true
		}
	}
	delete(written, "")
	var out []string
	for _, module := range slices.Sorted(maps.Keys(written)) {
		if !slices.ContainsFunc(gates, func(g spec.Gate) bool { return runsIn(g.InFull(), module) }) {
			out = append(out, fmt.Sprintf("no gate runs in the Go module %q, which tasks change: no gate's command names it. "+
				"A gate of its own is for example: go -C %s test ./...", module, module))
		}
	}
	return out
}

// runsIn reports whether a gate's command is one of a module's: at the root every command that goes nowhere else, below it one
// that names the module's directory, or go.mod files to look for.
func runsIn(g spec.Gate, module string) bool {
	if module == "." {
		at := slices.Index(g.Command, "-C")
		return at < 0 || at+1 < len(g.Command) && path.Clean(g.Command[at+1]) == "."
	}
	words := strings.FieldsFunc(strings.Join(g.Command, " "), func(r rune) bool {
		return strings.ContainsRune(" \t\n;&|()'\"=", r)
	})
	return slices.ContainsFunc(words, func(w string) bool {
		w = strings.TrimSuffix(path.Clean(w), "/...")
		return w == module || strings.HasPrefix(w, module+"/") || path.Base(w) == "go.mod"
	})
}
