package detect

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"go.yaml.in/yaml/v3"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
)

// space is a package for JavaScript with the workspaces that it is the root of.
type space struct {
	dir   string
	globs []string
	with  manager
	// tests reports that a gate of the root runs the tests of its members.
	tests bool
}

// space reads the workspaces of a package.
func (d *detector) space(dir string, m *manifest) space {
	s := space{dir: dir, globs: strs(m.Spaces), with: d.managerOf(dir, m)}
	if named, ok := m.Spaces.(map[string]any); ok { // yarn has other lists beside
		s.globs = strs(named["packages"])
	}
	var file struct {
		Packages []string `json:"packages" yaml:"packages"`
	}
	switch {
	case yaml.Unmarshal([]byte(d.text(path.Join(dir, "pnpm-workspace.yaml"))), &file) == nil && len(file.Packages) > 0,
		len(s.globs) == 0 && json.Unmarshal([]byte(d.text(path.Join(dir, "lerna.json"))), &file) == nil:
		s.globs = append(s.globs, file.Packages...)
	}
	tool, _ := d.orchestrator(dir)
	s.tests = m.test() != "" || tool != ""
	return s
}

// holds reports whether a directory is that of a member.
func (s *space) holds(dir string) bool {
	if dir == s.dir || !within(dir, s.dir) {
		return false
	}
	rel, held := strings.TrimPrefix(dir, s.dir+"/"), false
	for _, glob := range s.globs {
		out := strings.HasPrefix(glob, "!")
		if ok, err := doublestar.Match(path.Clean(strings.TrimPrefix(glob, "!")), rel); ok && err == nil {
			held = !out
		}
	}
	return held
}

// orchestrator is the program that runs the tests of all packages, where a package is set up for one.
func (d *detector) orchestrator(dir string) (name string, words []string) {
	switch {
	case d.known[path.Join(dir, "nx.json")]:
		return "nx", []string{"nx", "run-many", "--target=test"}
	case strings.Contains(d.text(path.Join(dir, "turbo.json")), `"test"`):
		return "turbo", []string{"turbo", "run", "test"}
	}
	return "", nil
}

// members are gates of a command for the members of a workspace with tests, each by itself.
func (d *detector) members(s space, command []string) (gates []spec.Gate) {
	for _, file := range d.under("package.json") {
		m, ok := d.manifest(file)
		dir := path.Dir(file)
		if ok && s.holds(dir) && m.test() != "" && packageName.MatchString(m.Name) && len(gates) < maxProjects {
			gates = append(gates, spec.Gate{
				Name: d.name("turbo-test", dir), Command: append(slices.Clone(command), "--filter="+m.Name),
			})
		}
	}
	return gates
}

// packageName matches a name that is no pattern for a filter.
var packageName = lazyregexp.New(`^(?:@[\w.-]+/)?[A-Za-z0-9_][\w.-]*$`)

// exec is the beginning of a command that runs a program of a package's dependencies.
func (m manager) exec(dir string) []string {
	switch at := m.at(dir); m.name {
	case "npm":
		return append(at, "exec", "--")
	case "pnpm":
		return append(at, "exec")
	default:
		return append(at, "run")
	}
}

// at is the manager, told to work in a directory.
func (m manager) at(dir string) []string {
	if dir == "." {
		return []string{m.name}
	}
	flag := "--cwd"
	switch m.name {
	case "npm":
		flag = "--prefix"
	case "pnpm":
		flag = "--dir"
	}
	return []string{m.name, flag, dir}
}
