// Package gosource reads the tests of Go files, with its parser.
package gosource

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"path"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/orchestrator/acceptance/testsource"
)

// Read reads the tests of one side of Go files.
func Read(files []testsource.File) []testsource.Unit {
	s := newSide()
	for _, f := range files {
		s.parse(f.Path, string(f.Content))
	}
	return s.units()
}

// goSide are the Go files of one side of a patch: its functions, those that are no tests by their name, and the values of its
// packages.
type goSide struct {
	set     *token.FileSet
	all     []*goFunction
	helpers map[string]*goFunction
	values  map[string]ast.Expr
	// texts are the files by their paths.
	texts map[string]string
}

func newSide() *goSide {
	return &goSide{
		set: token.NewFileSet(), helpers: map[string]*goFunction{}, values: map[string]ast.Expr{}, texts: map[string]string{},
	}
}

// parse notes the functions and values of a file.
func (s *goSide) parse(name, content string) {
	if content == "" {
		return
	}
	file, err := parser.ParseFile(s.set, name, content, parser.SkipObjectResolution)
	if err != nil { // it has no tests
		return
	}
	s.texts[name] = content
	f := goFile{name, content, file.FileStart, strings.HasSuffix(name, "_test.go")}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			for _, one := range d.Specs {
				s.declare(one)
			}
		case *ast.FuncDecl:
			test := testName.MatchString(d.Name.Name)
			if d.Body == nil || test && !f.tests {
				continue
			}
			g := s.function(f, d, test)
			if s.helpers[g.Name] == nil && !test {
				s.helpers[g.Name] = g
			}
		}
	}
}

// goFile is a file whose text begins at base.
type goFile struct {
	path, text string
	base       token.Pos
	tests      bool
}

func (s *goSide) function(f goFile, d *ast.FuncDecl, test bool) *goFunction {
	none := func() map[string]bool { return map[string]bool{} }
	g := &goFunction{
		Unit: testsource.Unit{Path: f.path, Name: d.Name.Name, Test: test}, side: s, decl: d, text: f.text,
		base: f.base, times: 1,
		closures: map[string]*goFunction{}, used: none(), locals: none(),
	}
	s.all = append(s.all, g)
	return g
}

// declare notes the values of a file.
func (s *goSide) declare(one ast.Spec) {
	v, ok := one.(*ast.ValueSpec)
	if ok && len(v.Names) == 1 && len(v.Values) == 1 {
		s.values[v.Names[0].Name] = v.Values[0]
	}
}

// units are the functions as tests, and as helpers whose assertions count where no test of the patch calls them.
func (s *goSide) units() []testsource.Unit {
	for _, g := range s.all {
		g.read()
	}
	out := make([]testsource.Unit, 0, len(s.all))
	for _, g := range s.all {
		if g.Test {
			g.Counts[testsource.Tests], g.Counts[testsource.Cases] = 1, max(1, g.Counts[testsource.Cases])
		} else if g.Counts[testsource.Cases] = 0; g.called || g.suite {
			g.Counts.Silence()
		}
		g.Settle()
		out = append(out, g.Unit)
	}
	return out
}

var (
	constraint = re(`(?m)^(?:(?://go:build|// ?\+build) (.*)$|package )`)
	// testName matches the names of tests for the go command.
	testName = re(`^(?:Test|Fuzz|Example)(?:\P{Ll}|$)`)
	output   = re(`(?mi)^\s*//\s*(?:unordered )?output:`) // without it an example is not run
)

// LeftOut reports whether the go command compiles a file no more, without further tags, by its name and its constraints. One that
// it did not compile before either is not left out.
func LeftOut(name string, before, after []byte) bool {
	if after == nil || before != nil && constraintOf(before) == constraintOf(after) {
		return false
	}
	context := build.Default
	context.GOOS, context.GOARCH, context.CgoEnabled, context.JoinPath = "linux", "amd64", true, path.Join
	context.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(after)), nil }
	ok, err := context.MatchFile(".", path.Base(name))
	return !ok || err != nil
}

// constraintOf is the build constraint before the package clause, also an old one.
func constraintOf(content []byte) string {
	if m := constraint.FindSubmatch(content); m != nil {
		return string(bytes.TrimSpace(m[1]))
	}
	return ""
}

func re(expression string) *lazyregexp.Regexp { return lazyregexp.New(expression) }
