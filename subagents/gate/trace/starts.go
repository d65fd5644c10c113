package trace

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// starters are packages by which a test starts programs, or reads files without the package os.
var starters = []string{
	"C", "os/exec", "plugin", "syscall", "github.com/rogpeppe/go-internal/testscript", "golang.org/x/tools/go/packages",
	"golang.org/x/tools/go/analysis/analysistest",
}

// starter reports whether a package that is imported can start programs.
func starter(name string) bool {
	return slices.Contains(starters, name) || strings.HasPrefix(name, "golang.org/x/sys/")
}

// Starts reports whether the tests of some Go packages can start programs, by what they and the packages of the tree that they
// import have imported; also where that cannot be told.
func Starts(dir string, command, packages []string) (bool, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false, fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // only read from
	t := newTree(root, command)
	t.left, t.files, t.bytes = maxTreeWork, maxTreeFiles, maxTreeBytes
	for _, name := range packages {
		place := t.packageDir(name)
		if place == "" || slices.ContainsFunc(append(t.closure(place, maxTreeFiles), place), func(dir string) bool {
			return t.goPackage(dir).starts
		}) {
			return true, t.err
		}
	}
	return t.left <= 0 || t.files < 0 || t.bytes <= 0, t.err
}
