package acceptance

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"path"
	"slices"
	"strings"
)

// compareGo counts the tests of a Go file by its syntax. A file that the parser cannot read has no tests.
func compareGo(c Change) pair {
	before, after := countGo(c.Before), countGo(c.After)
	switch {
	case c.After == nil || builds(c.Path, c.After):
	case c.Before == nil: // tests that come here from another file run no more
		after = counts{}
	case !bytes.Equal(constraint.Find(c.Before), constraint.Find(c.After)):
		after[off]++
	}
	return pair{c.Path, before, after}
}

// builds reports whether the go command compiles a file without further tags, by its name and its constraints.
func builds(name string, content []byte) bool {
	c := build.Default
	c.GOOS, c.GOARCH, c.CgoEnabled, c.JoinPath = "linux", "amd64", true, path.Join
	c.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	ok, err := c.MatchFile(".", path.Base(name))
	return ok && err == nil
}

var (
	constraint = re(`(?m)^(?://go:build|// ?\+build) .*$`)
	testName   = re(`^(?:Test|Fuzz|Example)(?:\P{Ll}|$)`)
	parameter  = re(`(\w+)\s+\*?testing\.`)
	output     = re(`(?mi)^\s*//\s*(?:unordered )?output:`) // without it an example is not run
	skipping   = re(`\.Skip(?:f|Now)?$`)
	// asserting are assertions wherever they are called, failing are those whose results are not used.
	asserting = re(`^(?:require|assert|must|should|qt)\.\w+$|(?:^|\.)(?:Expect(?:WithOffset)?|Eventually|Consistently|So|Ω)$`)
	failing   = re(`\.(?:Not?)?(?:Equal|Error|Fail|Fatal|True|False|Nil|Len|Empty|Zero|Contains|Same|Subset|Elements|Exactly` +
		`|Panics|Regexp|Implements|IsType|Greater|Less|Positive|Negative|InDelta|InEpsilon|Within|JSONEq|YAMLEq|HTTP|Condition` +
		`|Never|FileExists|DirExists|Assert|Check)\w*$`)
)

func countGo(text []byte) (c counts) {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		return c
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			c.add(countFunction(f, text[f.Pos()-file.FileStart:f.End()-file.FileStart]))
		}
	}
	return c
}

func countFunction(f *ast.FuncDecl, text []byte) counts {
	var g goFunction
	for _, m := range parameter.FindAllSubmatch(text, -1) {
		g.testing = append(g.testing, string(m[1]))
	}
	g.block(f.Body)
	switch name := f.Name.Name; {
	case name == "TestMain" && f.Recv == nil:
		if !g.runs {
			g.counts[off]++
		}
	case testName.MatchString(name):
		g.counts[tests]++
		if name[0] == 'E' && output.Match(text) {
			g.counts[assertions]++
		}
		if g.counts[assertions] == 0 {
			g.counts[empty]++
		}
	}
	return g.counts
}

// goFunction is one function that is being counted.
type goFunction struct {
	// testing are the names of parameters such as t *testing.T, its own and those of the functions in it.
	testing []string
	counts  counts
	// runs reports whether it calls a method Run.
	runs bool
}

// block counts the statements of a function. What follows a return, a skip or a panic in it is never run.
func (g *goFunction) block(b *ast.BlockStmt) {
	for _, s := range b.List {
		ast.Inspect(s, g.visit)
		switch s := s.(type) {
		case *ast.ReturnStmt:
			return
		case *ast.ExprStmt:
			if called, _ := strings.CutSuffix(name(s.X), "()"); called == "panic" || skipping.MatchString(called) {
				return
			}
		}
	}
}

func (g *goFunction) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncLit:
		g.block(n.Body)
		return false
	case *ast.ExprStmt: // check(t, got, want) and s.Equal(got, want)
		call, ok := n.X.(*ast.CallExpr)
		if ok && !asserting.MatchString(name(call.Fun)) && (failing.MatchString(name(call.Fun)) || g.helps(call)) {
			g.counts[assertions]++
		}
	case *ast.CallExpr:
		called := name(n.Fun)
		g.runs = g.runs || strings.HasSuffix(called, ".Run")
		switch {
		case skipping.MatchString(called):
			g.counts[skips]++
		case asserting.MatchString(called):
			g.counts[assertions]++
		}
	}
	return true
}

// helps reports whether a call is given t or s.T().
func (g *goFunction) helps(call *ast.CallExpr) bool {
	return slices.ContainsFunc(call.Args, func(e ast.Expr) bool {
		return slices.Contains(g.testing, name(e)) || strings.HasSuffix(name(e), ".T()")
	})
}

// name is an expression without arguments and brackets: t.Fatal, s.Require().Equal.
func name(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return name(e.X) + "." + e.Sel.Name
	case *ast.CallExpr:
		return name(e.Fun) + "()"
	}
	return ""
}
