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
	"regexp"
	"slices"
	"strings"
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
	t.build = buildContext(command)
	home := slices.IndexFunc(t.bases, func(dir string) bool { return t.module(dir) != "" })
	if home < 0 {
		return nil, "there is no go.mod where the gate works", t.err
	}
	packages := packagesOf(files)
	code, tests, stray := t.changedIn(t.bases[home], packages, changed)
	if stray != "" {
		return nil, stray + " is no file of a Go package that the gate tests", t.err
	}
	targets, whole = t.patterns(t.bases[home], t.importers(packages, code, tests), command)
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

// patterns names the packages of a module to the go command, but for those that no build here has: named, they are errors. Where
// the command may accept ./... and not these, whole is why.
func (t *tree) patterns(module string, packages map[string]bool, command []string) (patterns []string, whole string) {
	tests, mains := runsTests(command), 0
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		if t.homeOf(dir) != module {
			continue
		}
		switch pkg := t.goPackage(dir); {
		case pkg.has&hasCode == 0 && pkg.has&hasC != 0, pkg.has != 0 && pkg.has&isPlain == 0 && command[0] != "go":
			return nil, "not every build has the package " + dir
		case pkg.has&hasCode == 0 && pkg.has&hasTests != 0 && !tests:
			return nil, "the package " + dir + " has only tests"
		case pkg.has&(hasCode|hasTests) == 0:
			continue
		case pkg.has&isMain != 0:
			mains++
		}
		patterns = append(patterns, strings.TrimSuffix("./"+strings.TrimPrefix(strings.TrimPrefix(dir, module), "/"), "/"))
	}
	switch {
	case len(patterns) == 0:
		return nil, "the change affects no package that is built here"
	case len(patterns) == 1 && mains == 1 && !tests:
		return nil, "of a program alone go build writes the executable"
	case mains == 0 && output.MatchString(strings.Join(command, " ")):
		return nil, "go build -o needs a program"
	}
	return patterns, ""
}

// output matches a command that names what go build writes.
var output = regexp.MustCompile(`(?:^| )-o[ =]`)

// runsTests reports whether a command is go test or go vet: they accept packages that go build does not.
func runsTests(command []string) bool {
	return len(command) > 0 && command[0] == "go" && (slices.Contains(command, "test") || slices.Contains(command, "vet"))
}

// buildContext is that of this machine, with the tags that a command names.
func buildContext(command []string) *build.Context {
	c := build.Default
	for i, arg := range command {
		name, tags, given := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if name != "-tags" && name != "tags" || !strings.HasPrefix(arg, "-") {
			continue
		}
		if !given && i+1 < len(command) {
			tags = command[i+1]
		}
		c.BuildTags = strings.FieldsFunc(tags, func(r rune) bool { return r == ',' || r == ' ' })
	}
	c.JoinPath = path.Join
	return &c
}

// What a Go package has that this machine builds.
const (
	hasCode = 1 << iota
	hasTests
	hasC // files that need cgo
	isMain
	isPlain // built with other settings too
)

// has classifies a file of a package; syntax is nil where it does not parse, and go reports it.
func (t *tree) has(name string, data []byte, syntax *ast.File) int {
	if t.build == nil {
		return 0
	}
	matches := func(c build.Context) bool {
		c.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
		ok, err := c.MatchFile(".", name)
		return ok && err == nil
	}
	if !matches(*t.build) {
		return 0
	}
	has, plain := hasCode, 0
	if matches(build.Context{JoinPath: path.Join, GOOS: "none", GOARCH: "none", ReleaseTags: t.build.ReleaseTags}) {
		plain = isPlain
	}
	switch {
	case strings.HasSuffix(name, "_test.go"):
		return hasTests | plain
	case syntax == nil:
		return has | plain
	case slices.ContainsFunc(syntax.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == `"C"` }):
		has = hasC
	}
	if syntax.Name.Name == "main" {
		has |= isMain
	}
	return has | plain
}
