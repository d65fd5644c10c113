package trace

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"divisi/internal/spec"
)

// OfPackage is before the name or the directory of a Go package, where it could be that of something else.
const OfPackage = "package: "

// Places returns names of packages, suites and files as the paths that they have in the tree, sorted; a name that has none is
// returned as it is, and that of a Maven module as spec.HiddenAll. With importers the Go packages that import one of them,
// directly or through others, belong to them too;
// where there are too many files to tell, spec.HiddenAll.
func Places(dir string, command, names []string, importers bool) ([]string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // only read from
	t := newTree(root, command)
	var out, packages []string
	for _, name := range names {
		imported, ok := strings.CutPrefix(name, OfPackage)
		module, ofMaven := strings.CutPrefix(name, OfModule)
		switch place := t.place(name, imported, ok); {
		case ofMaven && t.maven(module) != "":
			out = append(out, t.maven(module))
		case ofMaven: // an unknown part of the tree
			out = append(out, spec.HiddenAll)
		case place == "":
			out = append(out, name)
		case ok:
			packages = append(packages, place)
		default:
			out = append(out, place)
		}
	}
	if importers && len(packages) > 0 {
		if packages, err = t.withImporters(packages); err != nil {
			return nil, err
		}
		if t.left <= 0 || t.files < 0 || t.bytes <= 0 {
			out = append(out, spec.HiddenAll)
		}
	}
	for _, p := range packages {
		out = append(out, OfPackage+p)
	}
	slices.Sort(out)
	return slices.Compact(out), t.err
}

func (t *tree) place(name, imported string, isPackage bool) string {
	if isPackage {
		return t.packageDir(imported)
	}
	p := t.owner(name)
	if p == "" || t.kind(p) != regular {
		return ""
	}
	return p
}

// withImporters adds to Go packages those that depend on them.
func (t *tree) withImporters(packages []string) ([]string, error) {
	t.left, t.files, t.bytes = maxTreeWork, maxTreeFiles, maxTreeBytes
	var files []string
	err := fs.WalkDir(t.root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != "." && (PassedOver(path.Join(p, "x.go")) || d.Name() == ".git"):
			return fs.SkipDir
		case d.Type().IsRegular() && strings.HasSuffix(p, ".go"):
			files = append(files, p)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the Go packages: %w", err)
	}
	for dir := range t.importers(packagesOf(files), packages, nil) {
		packages = append(packages, dir)
	}
	return packages, nil
}
