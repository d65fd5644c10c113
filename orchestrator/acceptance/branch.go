package acceptance

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// branch reads an if. A condition that cannot be true hides its body; one that leads out of a test without an assertion counts.
func (g *goFunction) branch(n *ast.IfStmt) {
	if n.Init != nil {
		ast.Inspect(n.Init, g.visit)
	}
	ast.Inspect(n.Cond, g.visit)
	if !g.never(n.Cond) {
		had, calls := g.counts[assertions], len(g.calls)
		g.block(n.Body)
		if g.prepares(n) {
			g.counts[assertions] = had
			g.calls = g.calls[:calls]
		} else if g.fails(n.Body) {
			g.use(n.Cond)
			if a, ok := n.Init.(*ast.AssignStmt); ok {
				g.use(a.Rhs...)
			}
			if g.exact(n) {
				g.counts[exact] += g.counts[assertions] - had
			}
		}
		if g.counts[assertions] == had && len(g.calls) == calls && len(g.testing) > 0 {
			g.counts[exits] += leaves(n.Body)
		}
	}
	if n.Else != nil {
		ast.Inspect(n.Else, g.visit)
	}
}

// prepares reports whether an if is the error of a call that only prepares a test: that call is its init, or the last assignment.
func (g *goFunction) prepares(n *ast.IfStmt) bool {
	cond, ok := n.Cond.(*ast.BinaryExpr)
	return ok && cond.Op == token.NEQ && name(cond.Y) == "nil" && g.prepared(cond.X)
}

// prepared reports whether an error is of a call that only prepares a test.
func (g *goFunction) prepared(e ast.Expr) bool {
	if id, ok := e.(*ast.Ident); ok {
		for _, a := range slices.Backward(g.assigned) {
			if a.name == id.Name {
				return setup.MatchString(name(a.value))
			}
		}
	}
	return setup.MatchString(name(e))
}

// leaves counts the statements of a block that end a test, or its turn of a loop, without a result.
func leaves(b *ast.BlockStmt) (n int) {
	for _, s := range b.List {
		switch s := s.(type) {
		case *ast.ReturnStmt:
			if len(s.Results) == 0 {
				n++
			}
		case *ast.BranchStmt:
			if s.Tok == token.CONTINUE {
				n++
			}
		}
	}
	return n
}

// fails reports whether a block fails the test by itself.
func (g *goFunction) fails(b *ast.BlockStmt) bool {
	return slices.ContainsFunc(b.List, func(s ast.Stmt) bool {
		e, ok := s.(*ast.ExprStmt)
		if !ok {
			return false
		}
		c, ok := e.X.(*ast.CallExpr)
		return ok && (failing(name(c.Fun)) || asserting(name(c.Fun)) || g.helps(c))
	})
}

// never reports whether the text of a condition shows that it cannot be true.
func (g *goFunction) never(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "false"
	case *ast.ParenExpr:
		return g.never(e.X)
	case *ast.UnaryExpr:
		if c, ok := e.X.(*ast.CallExpr); ok && e.Op == token.NOT && equality.MatchString(name(c.Fun)) && len(c.Args) == 2 {
			return g.same(c.Args[0], c.Args[1])
		}
		return e.Op == token.NOT && name(e.X) == "true"
	case *ast.BinaryExpr:
		switch e.Op {
		case token.LAND:
			return g.never(e.X) || g.never(e.Y)
		case token.NEQ, token.LSS, token.GTR:
			return g.same(e.X, e.Y)
		case token.EQL:
			return constantly(e.X) && constantly(e.Y) && !g.same(e.X, e.Y)
		}
	}
	return false
}

// same reports whether two expressions have one text, or one is a name that was given the other.
func (g *goFunction) same(a, b ast.Expr) bool {
	x, y := string(g.source(a)), string(g.source(b))
	return x == y || slices.ContainsFunc(g.assigned, func(s assignment) bool {
		if _, ok := s.value.(*ast.Ident); !ok {
			return false
		}
		value := name(s.value)
		return s.name == x && value == y || s.name == y && value == x
	})
}

func constantly(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.Ident:
		return e.Name == "true" || e.Name == "false" || e.Name == "nil"
	}
	return false
}

// plain are nil, true and false, which other assertions than those of equality name too.
func plain(e ast.Expr) bool {
	_, ok := e.(*ast.BasicLit)
	return constantly(e) && !ok
}

// exact reports whether the condition of a failure compares with one value.
func (g *goFunction) exact(n *ast.IfStmt) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			return false
		case *ast.BinaryExpr:
			found = found || n.Op == token.NEQ && !plain(n.X) && !plain(n.Y)
		case *ast.CallExpr:
			found = found || equality.MatchString(name(n.Fun)) || strings.HasSuffix(name(n.Fun), ".Diff")
		}
		return true
	})
	return found
}
