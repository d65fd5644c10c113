package trace

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

// The bounds of what is read to find what a change affects.
const (
	maxTreeWork  = 10_000_000
	maxTreeFiles = 60_000
	maxTreeBytes = 1 << 30
)

// Affected returns the Go packages that a change affects, as ./dir patterns relative to where the command works: the packages of
// the changed files, those that import one of them, directly or through others, and those whose tests do. files are those of the
// tree. Where that cannot be told, whole is why everything has to be tested.
func Affected(dir string, command, files, changed []string) (targets []string, whole string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // only read from
	t := newTree(root, command)
	t.left, t.files, t.bytes = maxTreeWork, maxTreeFiles, maxTreeBytes
	t.builds = buildsOf(command)
	home := slices.IndexFunc(t.bases, func(dir string) bool { return t.module(dir) != "" })
	if home < 0 {
		return nil, "there is no go.mod where the gate works", t.err
	}
	packages := packagesOf(files)
	code, tests, stray := t.changedIn(t.bases[home], packages, changed)
	if stray != "" {
		return nil, stray + " is outside the Go packages that the gate tests", t.err
	}
	targets, whole = t.patterns(t.bases[home], t.importers(packages, code, tests))
	if t.left <= 0 || t.files < 0 || t.bytes <= 0 {
		return nil, "the tree has more Go files than are read", t.err
	}
	return targets, whole, t.err
}

// packagesOf returns the directories with Go files that the go command can import and does not pass over.
func packagesOf(files []string) map[string]bool {
	packages := map[string]bool{}
	for _, file := range files {
		if dir := path.Dir(file); strings.HasSuffix(file, ".go") && !PassedOver(file) && Importable(dir) {
			packages[dir] = true
		}
	}
	return packages
}

// changedIn returns the packages of a module whose code, or whose tests alone, a change touches. A file in testdata belongs to
// the package of the directory above. stray is the first file that belongs to none: any package may read or embed it.
func (t *tree) changedIn(module string, packages map[string]bool, changed []string) (code, tests []string, stray string) {
	for _, file := range changed {
		dir := path.Dir(file)
		above, _, data := strings.Cut("/"+file, "/testdata/")
		if data {
			dir = path.Clean("." + above)
		}
		switch {
		case !packages[dir] || t.homeOf(dir) != module || !data && !strings.HasSuffix(file, ".go"):
			return nil, nil, file
		case !data && strings.HasSuffix(file, "_test.go"):
			tests = append(tests, dir)
		default:
			code = append(code, dir)
		}
	}
	return code, tests, ""
}

// homeOf returns the directory of the module that a directory belongs to; "" for none.
func (t *tree) homeOf(dir string) string {
	for _, above := range t.above(dir) {
		if t.module(above) != "" {
			return above
		}
	}
	return ""
}

// importers returns all packages that depend on some whose code changed, and those whose tests do or have changed.
func (t *tree) importers(packages map[string]bool, code, tests []string) map[string]bool {
	imported, tested := map[string][]string{}, map[string][]string{}
	for dir := range packages {
		pkg := t.goPackage(dir)
		for _, of := range pkg.imports {
			imported[of] = append(imported[of], dir)
		}
		for _, of := range pkg.tests {
			tested[of] = append(tested[of], dir)
		}
	}
	depend := map[string]bool{}
	for queue := code; len(queue) > 0; queue = queue[1:] {
		if dir := queue[0]; !depend[dir] {
			depend[dir] = true
			queue = append(queue, imported[dir]...)
		}
	}
	all := maps.Clone(depend)
	for dir := range depend {
		tests = append(tests, tested[dir]...)
	}
	for _, dir := range tests {
		all[dir] = true
	}
	return all
}

// patterns names the packages of a module to the go command, but for those that are not built here: named, they are errors. Where
// the command may accept ./... and not these, whole is why.
func (t *tree) patterns(module string, packages map[string]bool) (patterns []string, whole string) {
	mains := 0
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		pkg := t.goPackage(dir)
		switch {
		case t.homeOf(dir) != module || pkg.has == 0:
			continue
		case pkg.has&isSure == 0:
			return nil, "not every build has the package " + dir
		case pkg.has&isMain != 0:
			mains++
		}
		patterns = append(patterns, strings.TrimSuffix("./"+strings.TrimPrefix(strings.TrimPrefix(dir, module), "/"), "/"))
	}
	switch {
	case len(patterns) == 0:
		return nil, "the change affects no package that is built here"
	case len(patterns) == 1 && mains == 1 && !t.builds.tests:
		return nil, "go build on a single main package would write its program"
	case mains == 0 && output.MatchString(t.builds.command):
		return nil, "go build -o needs a program"
	}
	return patterns, ""
}

// Options of the go command in a gate's command.
var (
	tags   = lazyregexp.New(`(?:^| )--?tags[ =]['"]?([^ '"]+)`)
	output = lazyregexp.New(`(?:^| )-o[ =]`)
)

// builds is how a command builds packages. tests is set for go test and go vet, which accept packages that go build does not, and
// script for a command that is not go: it may build for another system.
type builds struct {
	command       string
	tests, script bool
	here          build.Context
}

func buildsOf(command []string) *builds {
	b := &builds{command: strings.Join(command, " "), here: build.Default, script: command[0] != "go"}
	b.tests = !b.script && (slices.Contains(command, "test") || slices.Contains(command, "vet"))
	if m := tags.FindStringSubmatch(b.command); m != nil {
		b.here.BuildTags = strings.Split(m[1], ",")
	}
	b.here.JoinPath = path.Join
	return b
}

// What a Go package has that is built here: anything, what makes sure that the command accepts it, a program.
const (
	isBuilt = 1 << iota
	isSure
	isMain
)

// has classifies a file of a package; syntax is nil where it does not parse, and go reports it.
func (b *builds) has(name string, data []byte, syntax *ast.File) int {
	matches := func(c build.Context) bool {
		c.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
		ok, err := c.MatchFile(".", name)
		return ok && err == nil
	}
	elsewhere := build.Context{JoinPath: path.Join, GOOS: "none", GOARCH: "none", ReleaseTags: b.here.ReleaseTags}
	cgo, test := func(s *ast.ImportSpec) bool { return s.Path.Value == `"C"` }, strings.HasSuffix(name, "_test.go")
	switch {
	case !matches(b.here):
		return 0
	case syntax == nil:
		return isBuilt | isSure
	case slices.ContainsFunc(syntax.Imports, cgo), b.script && !matches(elsewhere), test && !b.tests:
		return isBuilt
	case syntax.Name.Name == "main":
		return isBuilt | isSure | isMain
	}
	return isBuilt | isSure
}
