package gosource

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/acceptance/testsource"
)

// table is the table that an expression names, and its number of rows where the text shows it.
func (g *goFunction) table(e ast.Expr, depth int) (*ast.CompositeLit, int) {
	switch e := e.(type) {
	case *ast.CompositeLit:
		return e, len(e.Elts)
	case *ast.Ident:
		if depth < 4 {
			return g.table(g.value(e.Name), depth+1)
		}
	}
	return nil, 0
}

// value is the last value of a name.
func (g *goFunction) value(name string) ast.Expr {
	for _, a := range slices.Backward(g.assigned) {
		if a.name == name {
			return a.value
		}
	}
	return g.side.values[name]
}

// loop reads a loop. One over a table whose body asserts counts once for each row.
func (g *goFunction) loop(n *ast.RangeStmt) {
	table, rows := g.table(n.X, 0)
	had, times := g.Counts, g.times
	g.times = min(times*max(rows, 1), 1<<20)
	ast.Inspect(n.X, g.visit)
	g.block(n.Body)
	g.times = times
	more := g.Counts[testsource.Cases] > had[testsource.Cases]
	if rows > 0 && (more || g.Counts[testsource.Assertions] > had[testsource.Assertions]) {
		if !more {
			g.Counts[testsource.Cases] += rows
		}
		for _, row := range table.Elts {
			if kv, ok := row.(*ast.KeyValueExpr); ok { // its key is the name of the case
				row = kv.Value
			}
			g.values(row)
		}
	}
}

// branch reads an if. A condition that cannot be true hides its body; one that leads out of a test without an assertion counts.
func (g *goFunction) branch(n *ast.IfStmt) {
	if n.Init != nil {
		ast.Inspect(n.Init, g.visit)
	}
	ast.Inspect(n.Cond, g.visit)
	if !g.never(n.Cond) {
		had, said := g.Counts, len(g.Says)
		g.block(n.Body)
		gained := g.Counts[testsource.Assertions] - had[testsource.Assertions]
		switch {
		case gained == 0 && len(g.testing) > 0:
			g.Counts[testsource.Exits] += leaves(n.Body)
		default:
			g.fails(n, gained, len(g.Says) > said)
		}
	}
	if n.Else != nil {
		ast.Inspect(n.Else, g.visit)
	}
}

// fails notes a condition that fails a test: what it compares, and how exactly, unless its body reports that.
func (g *goFunction) fails(n *ast.IfStmt, gained int, said bool) {
	was, literals, text := g.Counts, len(g.Literals), g.source(n.Cond)
	g.use(n.Cond)
	cond, ok := n.Cond.(*ast.BinaryExpr)
	if ok && cond.Op == token.NEQ && name(cond.Y) == "nil" && strings.Contains(strings.ToLower(name(cond.X)), "err") {
		g.Counts[testsource.Assertions] -= gained
		g.Counts[testsource.Once] -= gained
		g.Counts[testsource.Errorless] += gained
		return
	}
	if said {
		return
	}
	one := compares(n.Cond, token.NEQ)
	if ok && cond.Op == token.LAND { // it fails on a second condition only
		one = false
	}
	if a, ok := n.Init.(*ast.AssignStmt); ok {
		g.use(a.Rhs...)
		one, text = one || compares(a, token.NEQ), g.source(a)+text
	}
	if one && !anything.MatchString(g.text[n.Pos()-g.base:n.Body.Pos()-g.base]) {
		g.Counts[testsource.Exact] += gained
	}
	g.say(text, was, literals)
}

// leaves counts the statements of a block that end a test, or its turn of a loop, without a result.
func leaves(b *ast.BlockStmt) (n int) {
	for _, s := range b.List {
		end, returns := s.(*ast.ReturnStmt)
		next, branches := s.(*ast.BranchStmt)
		if returns && len(end.Results) == 0 || branches && next.Tok == token.CONTINUE {
			n++
		}
	}
	return n
}

// use notes the values and names of expressions that an assertion compares.
func (g *goFunction) use(expressions ...ast.Expr) {
	for _, e := range expressions {
		g.values(e)
		ast.Inspect(e, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				g.used[id.Name] = true
			}
			return true
		})
	}
}

// labels are the names of what describes a case.
var labels = text.Set(`name desc description title msg message scenario label about comment why`)

// values collects the literals of an expression, but for the names of cases and the messages of failures.
func (g *goFunction) values(e ast.Expr) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.KeyValueExpr:
			return !labels[strings.ToLower(name(n.Key))]
		case *ast.UnaryExpr:
			if lit, ok := n.X.(*ast.BasicLit); ok && n.Op == token.SUB {
				g.literal(lit.Pos(), 'n', "-"+number64(lit.Value))
				return false
			}
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil {
				g.literal(n.Pos(), 's', text)
			} else {
				g.literal(n.Pos(), 'n', number64(n.Value))
			}
		case *ast.Ident:
			if n.Name == "true" || n.Name == "false" {
				g.literal(n.Pos(), 'b', n.Name)
			}
		}
		return true
	})
}

// number64 is the usual notation of an integer.
func number64(text string) string {
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	return text
}

// literal notes a literal. It is in the function's file, or in another one that has a value of the package.
func (g *goFunction) literal(at token.Pos, kind byte, text string) {
	place := g.side.set.PositionFor(at, false)
	file := g.side.texts[place.Filename]
	beside := file[strings.LastIndexByte(file[:place.Offset], '\n')+1:]
	beside, _, _ = strings.Cut(beside, "\n")
	g.Literals = append(g.Literals, testsource.Literal{
		Value: testsource.Value{Kind: kind, Text: text}, Path: place.Filename, Line: place.Line, Beside: beside,
	})
}

// name is an expression without arguments and brackets: t.Fatal, s.Require().Equal. A longer chain has only its last names.
func name(e ast.Expr) string { return chained(e, testsource.MaxDepth) }

func chained(e ast.Expr, most int) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if most > 0 {
			return chained(e.X, most-1) + "." + e.Sel.Name
		}
	case *ast.CallExpr:
		return chained(e.Fun, most) + "()"
	}
	return ""
}
