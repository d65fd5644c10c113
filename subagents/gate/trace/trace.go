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

// Names is what is known of one failure.
type Names struct {
	// Owners are what it belongs to: a Go package, a class or a file.
	Owners []string
	// Text are its lines. Paths in it are relative to the tree, to the owners, or to a directory above these.
	Text string
}

// Find returns the sorted paths that each failure names, and the directories of the packages that those of Go import. A failure
// that names no path has no entry. The command is the gate's: it can name the directory that the gate works in.
func Find(dir string, command []string, failures map[string]Names) (paths, imports map[string][]string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // only read from
	t := newTree(root, command)
	paths = t.paths(failures)
	imports = t.imports(paths)
	return paths, imports, t.err
}

func (t *tree) paths(failures map[string]Names) map[string][]string {
	most := min(maxEach, max(1, maxPaths/max(1, len(failures))))
	out := map[string][]string{}
	room := maxBytes
	for _, failure := range slices.Sorted(maps.Keys(failures)) {
		t.left = maxWork / len(failures)
		list := t.named(failures[failure], most)
		if len(list) == 0 {
			continue
		}
		if room -= size(failure, list); room < 0 || len(out) == maxPaths {
			break
		}
		out[failure] = list
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

// named returns the paths of one failure. Its owners come first, so that many other paths cannot displace them.
func (t *tree) named(n Names, most int) []string {
	found := map[string]bool{}
	bases := t.bases
	for _, owner := range n.Owners {
		if p := t.owner(owner); p != "" && len(found) < most {
			found[p] = true
			bases = append(t.above(p), bases...)
		}
	}
	for line := range strings.Lines(n.Text) {
		for _, word := range words(line) {
			if len(found) == most {
				break
			}
			if p := t.resolve(word, bases); p != "" {
				found[p] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// owner returns the directory of a package, or the file that a test belongs to.
func (t *tree) owner(name string) string {
	if dir := t.packageDir(name); dir != "" {
		return dir
	}
	if !strings.ContainsAny(name, "./") {
		return ""
	}
	if p := t.resolve(name, t.bases); p != "" {
		return p
	}
	if !strings.Contains(name, "/") {
		return t.class(name)
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

// class returns the file of a dotted name such as tests.test_a.TestIt or com.acme.FooTest.
func (t *tree) class(name string) string {
	name, _, _ = strings.Cut(name, "$") // a class in a class
	for ; name != "" && t.left > 0; name = name[:max(0, strings.LastIndexByte(name, '.'))] {
		file := strings.ReplaceAll(name, ".", "/")
		for _, base := range t.bases {
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
