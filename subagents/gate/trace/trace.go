// Package trace leads from the failures of a gate to the paths of the tree that they name, and from a change to the Go packages
// that it affects. Its input is a work tree and, for each failure, its lines and what it belongs to, or the changed files; its
// output the files and directories of the tree that failures name, with the Go packages that those import, or the packages that
// depend on what changed. It reads the tree through os.Root, returns no symbolic link and nothing behind one, and never
// changes the tree.
package trace

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// The bounds of a result. Where one is reached the result is smaller than the truth.
const (
	maxPaths = 2000
	maxEach  = 32 // paths of one failure
	maxBytes = 128 << 10
)

// Names describes one failure.
type Names struct {
	// Owners are its owners: a Go package, a class or a file.
	Owners []string
	// Text are its lines. Paths in it are relative to the tree, to the owners, or to a directory above these.
	Text string
}

// Led is where failures lead to. Paths has the sorted paths that each failure names, Positions those of them that it names with a
// line, and Imports the directories of the packages that those of Go import. A failure that names none has no entry.
type Led struct{ Paths, Positions, Imports map[string][]string }

// Find returns where failures lead to. The command is the gate's: it can name the directory that the gate works in.
func Find(dir string, command []string, failures map[string]Names) (Led, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Led{}, fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // only read from
	t := newTree(root, command)
	led := Led{Positions: map[string][]string{}}
	led.Paths = t.paths(failures, led.Positions)
	led.Imports = t.imports(led.Paths)
	return led, t.err
}

// paths returns the paths of each failure, and puts those with a line into positions.
func (t *tree) paths(failures map[string]Names, positions map[string][]string) map[string][]string {
	most := min(maxEach, max(1, maxPaths/max(1, len(failures))))
	out := map[string][]string{}
	room := maxBytes
	for _, failure := range slices.Sorted(maps.Keys(failures)) {
		t.left = maxWork / len(failures)
		list, placed := t.named(failures[failure], most)
		if len(list) == 0 {
			continue
		}
		if room -= size(failure, list); room < 0 || len(out) == maxPaths {
			break
		}
		out[failure] = list
		if len(placed) > 0 {
			positions[failure] = placed
		}
	}
	return out
}

func size(key string, list []string) int {
	n := len(key)
	for _, p := range list {
		n += len(p)
	}
	return n
}

// named returns the paths of one failure, and those of files that its lines give with a line. Its owners come first, so that many
// other paths cannot displace them.
func (t *tree) named(n Names, most int) (all, placed []string) {
	found := map[string]bool{} // with whether it has a line
	bases := t.bases
	for _, owner := range n.Owners {
		if p := t.owner(owner); p != "" && len(found) < most {
			found[p] = false
			bases = append(t.above(p), bases...)
		}
	}
	for line := range strings.Lines(n.Text) {
		for _, w := range words(line) {
			p := t.resolve(w.path, bases)
			if w.java {
				p = t.javaFile(w.path, bases)
			}
			if _, known := found[p]; p != "" && (known || len(found) < most) {
				found[p] = found[p] || w.placed && t.kind(p) == regular
			}
		}
	}
	all = slices.Sorted(maps.Keys(found))
	return all, slices.DeleteFunc(slices.Clone(all), func(p string) bool { return !found[p] })
}

// owner returns the directory of a package, or the file that a test belongs to.
func (t *tree) owner(name string) string {
	if module, ok := strings.CutPrefix(name, OfModule); ok {
		return t.maven(module)
	}
	if dir := t.packageDir(name); dir != "" {
		return dir
	}
	if !strings.ContainsAny(name, "./") {
		return ""
	}
	if p := t.resolve(name, t.bases); p != "" {
		return p
	}
	dir, class := path.Split(name)
	if p := t.class(class, dir); p != "" || dir == "" {
		return p
	}
	// A package of this tree whose module is not known.
	for rest := name; rest != ""; {
		if validPath(rest) && t.kind(rest) == directory {
			return rest
		}
		_, rest, _ = strings.Cut(rest, "/")
	}
	return ""
}

// Where classes are kept, and in which files.
var (
	sources    = []string{"", "src", "src/test/java", "src/test/kotlin", "src/test/scala", "src/test/groovy"}
	extensions = []string{".py", ".java", ".kt", ".scala", ".groovy"}
)

// class returns the file of a dotted name such as tests.test_a.TestIt or com.acme.FooTest, in a directory where one is given.
func (t *tree) class(name, dir string) string {
	bases := t.bases
	if dir != "" {
		bases = []string{path.Clean(dir)}
	}
	name, _, _ = strings.Cut(name, "$") // a class in a class
	for ; name != "" && t.left > 0; name = name[:max(0, strings.LastIndexByte(name, '.'))] {
		file := strings.ReplaceAll(name, ".", "/")
		for _, base := range bases {
			for _, source := range sources {
				for _, extension := range extensions {
					if p := path.Join(base, source, file+extension); validPath(p) && t.kind(p) == regular {
						return p
					}
				}
			}
		}
	}
	return ""
}

// Files gives the names of files that a command prints their paths in the tree. Names of nothing in it stay without one.
func Files(dir string, command []string, names map[string]string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // only read from
	t := newTree(root, command)
	for name := range names {
		if p := t.resolve(name, t.bases); p != "" && t.kind(p) == regular {
			names[name] = p
		}
	}
	return t.err
}
