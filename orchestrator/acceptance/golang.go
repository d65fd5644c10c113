package acceptance

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// countGo counts the tests of a Go file by its syntax.
func countGo(name string, content, before []byte) (counts, bool) {
	mode := parser.SkipObjectResolution
	if bytes.Contains(content, []byte("func Example")) {
		mode |= parser.ParseComments
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, content, mode)
	if err != nil {
		return counts{}, false
	}
	g := goFile{file: file, testing: testingNames(file)}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			g.function(f)
		}
	}
	switch {
	case before == nil && !builds(name, content, nil): // tests that come here from another file run no more
		return counts{}, true
	case constrained(content) && !builds(name, content, before) && builds(name, before, before):
		g.counts.off++
	}
	return g.counts, true
}

// goFile is one file that is being counted.
type goFile struct {
	file *ast.File
	// testing are the names that parameters of a type of package testing have; helpers those of what was made from one of them,
	// such as require.New(t).
	testing map[string]bool
	helpers map[string]bool
	counts  counts
}

// testingNames are the names of parameters such as t *testing.T and tb testing.TB.
func testingNames(file *ast.File) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		field, ok := n.(*ast.Field)
		if !ok {
			return true
		}
		kind := field.Type
		if star, pointer := kind.(*ast.StarExpr); pointer {
			kind = star.X
		}
		if sel, ok := kind.(*ast.SelectorExpr); ok && isName(sel.X, "testing") {
			for _, n := range field.Names {
				names[n.Name] = true
			}
		}
		return true
	})
	return names
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

func (g *goFile) function(f *ast.FuncDecl) {
	if f.Recv == nil && f.Name.Name == "TestMain" {
		if !g.runsTests(f) {
			g.counts.off++
		}
		return
	}
	had := g.counts.assertions
	g.helpers = map[string]bool{}
	if f.Recv != nil && len(f.Recv.List[0].Names) > 0 && isTestName(f.Name.Name) { // a suite asserts with its receiver
		g.helpers[f.Recv.List[0].Names[0].Name] = true
	}
	g.block(f.Body)
	if !isTestName(f.Name.Name) {
		return
	}
	g.counts.tests++
	if strings.HasPrefix(f.Name.Name, "Example") {
		g.counts.assertions += g.outputs(f)
	}
	if g.counts.assertions == had {
		g.counts.hollow++
	}
}

func isTestName(name string) bool {
	for _, prefix := range []string{"Test", "Fuzz", "Example"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			r, _ := utf8.DecodeRuneInString(rest)
			return !unicode.IsLower(r)
		}
	}
	return false
}

// runsTests reports whether a TestMain calls Run of its parameter.
func (g *goFile) runsTests(f *ast.FuncDecl) (runs bool) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		runs = runs || ok && sel.Sel.Name == "Run"
		return !runs
	})
	return runs
}

// outputs are the output comments of an example: without one it is not run.
func (g *goFile) outputs(f *ast.FuncDecl) int {
	for _, c := range g.file.Comments {
		text := strings.ToLower(strings.TrimSpace(c.Text()))
		if c.Pos() > f.Body.Pos() && c.End() < f.Body.End() &&
			(strings.HasPrefix(text, "output:") || strings.HasPrefix(text, "unordered output:")) {
			return 1
		}
	}
	return 0
}

// block counts the statements of a function. What follows a return, a skip or a panic in it is never run.
func (g *goFile) block(b *ast.BlockStmt) {
	for _, s := range b.List {
		ast.Inspect(s, g.visit)
		if g.leaves(s) {
			return
		}
	}
}

func (g *goFile) leaves(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		return ok && (isName(call.Fun, "panic") || g.skip(call))
	}
	return false
}

func (g *goFile) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncLit:
		g.block(n.Body)
		return false
	case *ast.AssignStmt:
		g.helper(n)
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); ok && !g.known(call) && g.passesTesting(call) { // check(t, got, want)
			g.counts.assertions++
		}
	case *ast.CallExpr:
		switch {
		case g.skip(n):
			g.counts.skips++
		case g.known(n):
			g.counts.assertions++
		}
	}
	return true
}

// helper notes variables such as is := require.New(t).
func (g *goFile) helper(a *ast.AssignStmt) {
	if len(a.Lhs) != 1 || len(a.Rhs) != 1 {
		return
	}
	call, ok := a.Rhs[0].(*ast.CallExpr)
	if !ok || !g.passesTesting(call) {
		return
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if id, named := a.Lhs[0].(*ast.Ident); ok && named && strings.HasPrefix(sel.Sel.Name, "New") {
		g.helpers[id.Name] = true
	}
}

func (g *goFile) passesTesting(call *ast.CallExpr) bool {
	return slices.ContainsFunc(call.Args, func(e ast.Expr) bool {
		if inner, ok := e.(*ast.CallExpr); ok && len(inner.Args) == 0 { // s.T()
			sel, ok := inner.Fun.(*ast.SelectorExpr)
			return ok && sel.Sel.Name == "T"
		}
		id, ok := e.(*ast.Ident)
		return ok && g.testing[id.Name]
	})
}

func (g *goFile) skip(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && (sel.Sel.Name == "Skip" || sel.Sel.Name == "Skipf" || sel.Sel.Name == "SkipNow")
}

var (
	asserting = []string{"require", "assert", "must", "should", "qt"}                             //nolint:gochecknoglobals // a constant list
	failing   = []string{"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"}                 //nolint:gochecknoglobals // a constant list
	expecting = []string{"Expect", "Eventually", "Consistently", "ExpectWithOffset", "Ω", "So"} //nolint:gochecknoglobals // a constant list
)

// known reports whether a call is an assertion by its name.
func (g *goFile) known(call *ast.CallExpr) bool {
	if id, ok := call.Fun.(*ast.Ident); ok {
		return slices.Contains(expecting, id.Name)
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name == "New" || sel.Sel.Name == "Run" {
		return false
	}
	switch x := sel.X.(type) {
	case *ast.Ident:
		return slices.Contains(asserting, x.Name) || slices.Contains(expecting, sel.Sel.Name) ||
			g.testing[x.Name] && slices.Contains(failing, sel.Sel.Name) ||
			g.helpers[x.Name] && sel.Sel.Name != "T" && sel.Sel.Name != "Require" && sel.Sel.Name != "Assert"
	case *ast.CallExpr: // s.Require().Equal(…), s.T().Fatal(…)
		inner, ok := x.Fun.(*ast.SelectorExpr)
		return ok && (inner.Sel.Name == "Require" || inner.Sel.Name == "Assert" ||
			inner.Sel.Name == "T" && slices.Contains(failing, sel.Sel.Name))
	}
	return false
}

func constrained(content []byte) bool { return bytes.Contains(content, []byte("build")) }

// builds reports whether the go command compiles the file with the tags that its former content asks for, by its name and its
// constraints.
func builds(name string, content, before []byte) bool {
	if content == nil {
		return false
	}
	c := build.Default
	c.GOOS, c.GOARCH, c.CgoEnabled, c.BuildTags = "linux", "amd64", true, tags(before)
	c.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	c.JoinPath = path.Join
	ok, err := c.MatchFile(".", path.Base(name))
	return ok && err == nil
}

// tags are the words of a file's build constraint.
func tags(content []byte) (out []string) {
	for line := range bytes.Lines(content) {
		text := strings.TrimSpace(string(line))
		if strings.HasPrefix(text, "package ") {
			break
		}
		expression, err := constraint.Parse(text)
		if err != nil {
			continue
		}
		collect(expression, &out)
	}
	return out
}

// collect adds the tags that an expression asks for, not those that it rules out.
func collect(e constraint.Expr, out *[]string) {
	switch e := e.(type) {
	case *constraint.TagExpr:
		*out = append(*out, e.Tag)
	case *constraint.AndExpr:
		collect(e.X, out)
		collect(e.Y, out)
	case *constraint.OrExpr:
		collect(e.X, out)
		collect(e.Y, out)
	}
}
