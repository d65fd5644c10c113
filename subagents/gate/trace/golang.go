package trace

import (
	"bufio"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"divisi/internal/lazyregexp"
)

// The bounds of what is read and returned of Go packages.
const (
	maxImporters   = 256
	maxImports     = 4000
	minImportsEach = maxImports / maxImporters
	maxGoFiles     = 10_000
	maxGoBytes     = 64 << 20
	maxGoHead      = 64 << 10 // of one file: its imports are at its beginning
	maxEntries     = 10_000   // of one directory
	maxModules     = 256
	maxModuleFile  = 1 << 20
)

// goPackage holds the imports of this tree in the files of a directory, whatever their build constraints. has is what is built of
// it.
type goPackage struct {
	imports, tests []string
	has            int
	// read reports that a file of it could be read, starts that one can start programs.
	read, starts bool
}

// imports returns, for each directory with Go files that the paths name, those that it imports, if only none, the nearest first
// where not all are returned. Directories come before files: they are packages whose tests failed.
func (t *tree) imports(paths map[string][]string) map[string][]string {
	t.left = maxWork
	named := map[string]bool{}
	var dirs, ofFiles []string
	for _, failure := range slices.Sorted(maps.Keys(paths)) {
		for _, p := range paths[failure] {
			switch {
			case t.kind(p) == directory:
				dirs = append(dirs, p)
			case strings.HasSuffix(p, ".go"):
				ofFiles = append(ofFiles, path.Dir(p))
			}
		}
	}
	dirs = slices.DeleteFunc(append(dirs, ofFiles...), func(dir string) bool {
		known := named[dir]
		named[dir] = true
		return known || !t.goPackage(dir).read
	})
	dirs = dirs[:min(len(dirs), maxImporters)]
	out := map[string][]string{}
	room := maxBytes
	for _, dir := range dirs {
		list := t.closure(dir, max(minImportsEach, maxImports/len(dirs)))
		if room -= size(dir, list); room < 0 {
			break
		}
		out[dir] = list
	}
	return out
}

// closure returns what a package and its tests import, directly or through others.
func (t *tree) closure(dir string, most int) []string {
	seen, out := map[string]bool{dir: true}, []string{}
	pkg := t.goPackage(dir)
	for queue := slices.Concat(pkg.imports, pkg.tests); len(queue) > 0 && len(out) < most; queue = queue[1:] {
		if next := queue[0]; !seen[next] {
			seen[next] = true
			out = append(out, next)
			queue = append(queue, t.goPackage(next).imports...)
		}
	}
	slices.Sort(out)
	return out
}

func (t *tree) goPackage(dir string) *goPackage {
	if known, ok := t.packages[dir]; ok {
		return known
	}
	pkg := &goPackage{}
	t.packages[dir] = pkg
	for _, name := range t.goFiles(dir) {
		if t.files--; t.files < 0 || t.bytes <= 0 {
			break
		}
		data := t.read(path.Join(dir, name), maxGoHead)
		t.bytes -= len(data)
		if data == nil {
			continue
		}
		pkg.read = true
		file, err := parser.ParseFile(token.NewFileSet(), name, data, parser.ImportsOnly|parser.SkipObjectResolution)
		if err != nil {
			file = nil // go cannot read it either
		}
		if t.builds != nil {
			pkg.has |= t.builds.has(name, data, file)
		}
		if file == nil {
			continue
		}
		list := &pkg.imports
		if strings.HasSuffix(name, "_test.go") {
			list = &pkg.tests
		}
		for _, spec := range file.Imports {
			if name, err := strconv.Unquote(spec.Path.Value); err == nil {
				pkg.starts = pkg.starts || starter(name)
				if imported := t.packageDir(name); imported != "" {
					*list = append(*list, imported)
				}
			}
		}
	}
	return pkg
}

// goFiles returns the names of the regular Go files of a directory.
func (t *tree) goFiles(dir string) []string {
	if t.kind(dir) != directory {
		return nil
	}
	open, err := t.root.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if t.note(err); err != nil {
		return nil
	}
	defer open.Close() // only read from
	entries, err := open.ReadDir(maxEntries)
	t.note(err)
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), ".go") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}

// packageDir returns the directory of a package of this tree; "" for any other. Of a module that is not known it is the longest
// end of the import path that is a directory and, by the go.mod above it, that package.
func (t *tree) packageDir(name string) string {
	if dir := t.inModule(name); dir != "" {
		return dir
	}
	if known, ok := t.resolved[name]; ok {
		return known
	}
	found := ""
	for _, rest, more := strings.Cut(name, "/"); more && found == ""; _, rest, more = strings.Cut(rest, "/") {
		if validPath(rest) && t.kind(rest) == directory && t.importPath(rest) == name {
			found = rest
		}
	}
	t.resolved[name] = found
	return found
}

// inModule returns the directory of a package of the known modules.
func (t *tree) inModule(name string) string {
	if !validPath(name) {
		return ""
	}
	for module := name; module != "."; module = path.Dir(module) {
		dir, known := t.modules[module]
		if !known {
			continue
		}
		if p := path.Join(dir, strings.TrimPrefix(name[len(module):], "/")); t.kind(p) == directory {
			return p
		}
	}
	return ""
}

// importPath returns the path by which a directory is imported; "" without a go.mod above it.
func (t *tree) importPath(dir string) string {
	for _, top := range t.above(dir) {
		if module := t.module(top); module != "" {
			return path.Join(module, strings.TrimPrefix(strings.TrimPrefix(dir, top), "/"))
		}
	}
	return ""
}

// findModules reads which modules are where the gate works, at the top, and in the workspace.
func (t *tree) findModules() {
	var uses []string
	if t.kind("go.work") == regular {
		uses = Uses(string(t.read("go.work", maxModuleFile)))
	}
	for _, dir := range slices.Concat([]string{"."}, t.bases, uses[:min(len(uses), maxModules)]) {
		if module := t.module(dir); module != "" {
			t.modules[module] = dir
		}
	}
}

// module returns the name of the module whose go.mod is in a directory.
func (t *tree) module(dir string) string {
	if known, ok := t.goMods[dir]; ok {
		return known
	}
	t.goMods[dir] = ""
	file := path.Join(dir, "go.mod")
	if !validPath(file) || t.kind(file) != regular {
		return ""
	}
	for line := range strings.Lines(string(t.read(file, maxModuleFile))) {
		line, _, _ = strings.Cut(line, "//")
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "module" {
			t.goMods[dir] = strings.Trim(fields[1], "\"`")
			break
		}
	}
	return t.goMods[dir]
}

// PassedOver reports whether a file is in a directory that the go command passes over too, that holds other people's code, or
// that it would take for a flag.
func PassedOver(file string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(file), "/"), func(dir string) bool {
		return dir == "testdata" || dir == "vendor" || dir == "node_modules" ||
			len(dir) > 1 && strings.ContainsAny(dir[:1], "._-")
	})
}

// importable matches what the go command takes as a part of an import path.
var importable = lazyregexp.New(`^[A-Za-z0-9._~+/-]*$`)

// Importable reports whether the go command can import a directory by its name.
func Importable(dir string) bool { return importable.MatchString(dir) }

// Uses reads the use directives of a go.work file that stay in the repository.
func Uses(text string) []string {
	var uses []string
	block := false
	for scanner := bufio.NewScanner(strings.NewReader(text)); scanner.Scan(); {
		line, _, _ := strings.Cut(scanner.Text(), "//")
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
			continue
		case block && fields[0] == ")":
			block = false
			continue
		case fields[0] == "use" && len(fields) > 1:
			if block = fields[1] == "("; block {
				continue
			}
			fields = fields[1:]
		case !block:
			continue
		}
		dir := path.Clean(strings.Trim(fields[0], `"`+"`"))
		if !path.IsAbs(dir) && dir[0] != '-' && dir != ".." && !strings.HasPrefix(dir, "../") && !slices.Contains(uses, dir) {
			uses = append(uses, dir)
		}
	}
	return uses
}
