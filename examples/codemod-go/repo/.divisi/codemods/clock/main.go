// Command clock changes the Go files that it is given: sh .divisi/codemods/clock/try.sh shows what it does.
// It needs the standard library alone. divisi runs it as the role clock, in a clean tree of the commit.
package main

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// Edit these two lines, and match in plan.yaml: a function or another name of a package, by its import path, and what it becomes.
const (
	fromPath, fromName = "time", "Now"
	toPath, toName     = "example.com/clock", "Now"
)

// rewrite makes the edits of one file. For another codemod, write another body: f.syntax is what go/parser made of the file,
// f.replace puts text in the place of a node, and whatever has no edit stays as it was, byte for byte.
func rewrite(f *file) {
	from := f.imported(fromPath)
	if from == "" {
		return
	}
	to, used, left := f.imported(toPath), false, false
	if to == "" {
		to = packageName(toPath)
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || !isPackage(sel.X, from) {
			return true
		}
		if sel.Sel.Name != fromName {
			left = true // another name of the package, which stays
			return true
		}
		f.replace(sel, to+"."+toName)
		used = true
		return true
	})
	if used {
		f.moveImport(left)
	}
}

func main() {
	names := os.Args[1:]
	if len(names) > 0 && names[0] == "--" { // it separates the files from those that go run compiles
		names = names[1:]
	}
	for _, name := range names {
		if err := change(name); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

// change rewrites one file, and leaves it alone where nothing is to be changed.
func change(name string) error {
	if path.Ext(name) != ".go" {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	f := &file{text: text, set: token.NewFileSet()}
	if f.syntax, err = parser.ParseFile(f.set, name, text, parser.ParseComments); err != nil {
		return err
	}
	rewrite(f)
	if len(f.edits) == 0 {
		return nil
	}
	out, err := format.Source(f.edited())
	if err != nil {
		return fmt.Errorf("what it became is no Go: %v", err)
	}
	return os.WriteFile(name, out, 0o644)
}

// file is a Go file and the edits to be made in it.
type file struct {
	text   []byte
	set    *token.FileSet
	syntax *ast.File
	edits  []edit
}

// edit puts text in the place of the bytes from begin to end.
type edit struct {
	begin, end int
	text       string
}

func (f *file) replace(n ast.Node, text string) { f.put(n.Pos(), n.End(), text) }

func (f *file) put(begin, end token.Pos, text string) {
	f.edits = append(f.edits, edit{f.set.Position(begin).Offset, f.set.Position(end).Offset, text})
}

// edited is the text with all edits made.
func (f *file) edited() []byte {
	sort.SliceStable(f.edits, func(i, j int) bool { return f.edits[i].begin < f.edits[j].begin })
	var out []byte
	at := 0
	for _, e := range f.edits {
		out = append(append(out, f.text[at:e.begin]...), e.text...)
		at = e.end
	}
	return append(out, f.text[at:]...)
}

// isPackage reports whether an expression is the name of an imported package, and no variable of that name.
func isPackage(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name && id.Obj == nil
}

// packageName is the name that a package most likely has: the last part of its path without a version.
func packageName(importPath string) string {
	base := path.Base(importPath)
	if version.MatchString(base) && path.Dir(importPath) != "." {
		base = path.Base(path.Dir(importPath))
	}
	return strings.Split(base, ".v")[0]
}

var version = regexp.MustCompile(`^v[0-9]+$`)

// imported is the name by which the file uses a package; "" where it does not import it by a name.
func (f *file) imported(importPath string) string {
	spec := f.spec(importPath)
	switch {
	case spec == nil:
		return ""
	case spec.Name == nil:
		return packageName(importPath)
	case spec.Name.Name == "_" || spec.Name.Name == ".":
		return ""
	}
	return spec.Name.Name
}

func (f *file) spec(importPath string) *ast.ImportSpec {
	for _, spec := range f.syntax.Imports {
		if spec.Path.Value == strconv.Quote(importPath) {
			return spec
		}
	}
	return nil
}

// moveImport imports the new package, and no longer the old one unless the file has left uses of it.
func (f *file) moveImport(left bool) {
	spec, quoted := f.spec(fromPath), strconv.Quote(toPath)
	switch has := fromPath == toPath || f.imported(toPath) != ""; {
	case has && (left || fromPath == toPath):
	case has:
		f.remove(spec)
	case left:
		f.add(spec, quoted)
	default:
		f.replace(spec, quoted)
	}
}

// declaration is the import declaration that an import is in.
func (f *file) declaration(spec *ast.ImportSpec) *ast.GenDecl {
	for _, d := range f.syntax.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Pos() <= spec.Pos() && spec.End() <= g.End() {
			return g
		}
	}
	return nil
}

// remove takes an import out, with its declaration where that has no other one.
func (f *file) remove(spec *ast.ImportSpec) {
	if d := f.declaration(spec); len(d.Specs) == 1 {
		f.replace(d, "")
		return
	}
	end := f.set.Position(spec.End()).Offset
	for end < len(f.text) && f.text[end] != '\n' {
		end++ // a comment behind it goes too
	}
	f.edits = append(f.edits, edit{f.set.Position(spec.Pos()).Offset, end + 1, ""})
}

// add writes another import before one.
func (f *file) add(spec *ast.ImportSpec, quoted string) {
	if d := f.declaration(spec); d.Lparen == token.NoPos {
		f.put(spec.Pos(), spec.Pos(), "(\n"+quoted+"\n")
		f.put(spec.End(), spec.End(), "\n)")
		return
	}
	f.put(spec.Pos(), spec.Pos(), quoted+"\n")
}
