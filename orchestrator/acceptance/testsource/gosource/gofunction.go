package gosource

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"

	"divisi/orchestrator/acceptance/testsource"
)

// goFunction is a function that is being read for what it asserts.
type goFunction struct {
	testsource.Unit

	side *goSide
	decl *ast.FuncDecl
	// text is its file, which begins at base.
	text string
	base token.Pos
	// testing are the names of parameters such as t *testing.T, its own and those of the functions in it.
	testing []string
	// closures are the functions in it that have a name.
	closures map[string]*goFunction
	// assigned are the values of names, used are the names in assertions.
	assigned []assignment
	used     map[string]bool
	// locals are the names that it declares.
	locals map[string]bool
	// statement is the expression of the statement that is being read; times is how often it runs, by the tables around it.
	statement ast.Expr
	times     int
	// suite reports whether it only runs a suite, called whether another function of the patch calls it.
	suite, called, done bool
}

type assignment struct {
	name  string
	value ast.Expr
}

// read reads the function, once.
func (g *goFunction) read() {
	if g.done {
		return
	}
	g.done, g.Line = true, g.side.set.PositionFor(g.decl.Pos(), false).Line
	if g.Name == "TestMain" {
		g.Counts[testsource.Off] = 1
	}
	g.visit(g.decl.Type)
	g.block(g.decl.Body)
	for _, c := range g.closures {
		if c.called {
			c.Counts.Silence()
		}
		g.Counts.Add(c.Counts)
	}
	g.Text = g.source(g.decl)
	g.Test = g.Test && !g.suite && g.Name != "TestMain"
	g.outputs()
	for _, a := range g.assigned {
		if c, ok := a.value.(*ast.CallExpr); g.used[a.name] && (!ok || wanted.MatchString(a.name) || !g.tests(c)) {
			g.values(a.value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.used)) {
		if v := g.side.values[name]; v != nil {
			g.values(v)
		}
	}
}

// wanted are names of what is expected.
var wanted = re(`(?i)want|exp`)

// tests reports whether a call is of what is tested: its arguments are inputs.
func (g *goFunction) tests(c *ast.CallExpr) bool {
	base, _, method := cutLast(callee(c))
	return !method || g.locals[base] || g.closures[base] != nil
}

// outputs adds the output of an example, which is an assertion.
func (g *goFunction) outputs() {
	if !g.Test || g.Name[0] != 'E' {
		return
	}
	own := g.source(g.decl)
	at := output.FindStringIndex(own)
	if at == nil {
		return
	}
	g.Counts[testsource.Assertions]++
	g.Counts[testsource.Exact]++
	for l := range strings.Lines(own[at[1]:]) {
		text := strings.TrimSpace(strings.TrimLeft(l, " \t/"))
		g.Literals = append(g.Literals, testsource.Literal{
			Value: testsource.Value{Kind: 'o', Text: text}, Path: g.Path, Line: g.Line,
		})
	}
}

// source is the text of a node.
func (g *goFunction) source(n ast.Node) string { return g.text[n.Pos()-g.base : n.End()-g.base] }

func (g *goFunction) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncType:
		for _, f := range n.Params.List {
			kind := f.Type
			if p, ok := kind.(*ast.StarExpr); ok {
				kind = p.X
			}
			if len(f.Names) > 0 && strings.HasPrefix(name(kind), "testing.") {
				g.testing = append(g.testing, f.Names[0].Name)
			}
			g.declare(f.Names)
		}
	case *ast.BlockStmt:
		g.block(n)
		return false
	case *ast.AssignStmt:
		return g.assign(n)
	case *ast.ValueSpec:
		g.declare(n.Names)
		for i, v := range n.Values {
			if len(n.Names) == len(n.Values) {
				g.assigned = append(g.assigned, assignment{n.Names[i].Name, v})
			}
		}
	case *ast.RangeStmt:
		g.loop(n)
		return false
	case *ast.IfStmt:
		g.branch(n)
		return false
	case *ast.ExprStmt:
		g.statement = n.X
	case *ast.CallExpr:
		g.call(n, g.statement == n)
	}
	return true
}

// block reads statements. What follows a return, a skip or a panic is never run.
func (g *goFunction) block(b *ast.BlockStmt) {
	for _, s := range b.List {
		ast.Inspect(s, g.visit)
		switch s := s.(type) {
		case *ast.ReturnStmt, *ast.BranchStmt:
			return
		case *ast.ExprStmt:
			if called := strings.TrimSuffix(name(s.X), "()"); called == "panic" || called == "os.Exit" || skipping(called) {
				return
			}
		}
	}
}

// assign notes what names are given. A function with a name counts where it is called.
func (g *goFunction) assign(n *ast.AssignStmt) bool {
	for i, l := range n.Lhs {
		value := n.Rhs[min(i, len(n.Rhs)-1)]
		f, ok := value.(*ast.FuncLit)
		if !ok || len(n.Lhs) > 1 {
			g.assigned = append(g.assigned, assignment{name(l), value})
			continue
		}
		had, times := g.Counts, g.times
		g.Counts, g.times = testsource.Counts{}, 1
		ast.Inspect(f, g.visit)
		g.closures[name(l)] = &goFunction{Unit: testsource.Unit{Counts: g.Counts}, done: true}
		g.Counts, g.times = had, times
		return false
	}
	return true
}

func (g *goFunction) declare(names []*ast.Ident) {
	for _, id := range names {
		g.locals[id.Name] = true
	}
}

// callee is the name of the function that a call calls.
func callee(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.IndexExpr:
		return name(f.X)
	case *ast.IndexListExpr:
		return name(f.X)
	}
	return name(c.Fun)
}
