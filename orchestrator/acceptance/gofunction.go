package acceptance

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// goFunction is a function that is being read for what it asserts.
type goFunction struct {
	unit

	side *goSide
	decl *ast.FuncDecl
	// text is its file, which begins at base.
	text string
	base token.Pos
	// testing are the names of parameters such as t *testing.T, its own and those of the functions in it.
	testing []string
	// closures are the functions in it that have a name.
	closures map[string]*goFunction
	// assigned is what names are given, used are the names in assertions.
	assigned []assignment
	used     map[string]bool
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
	g.done, g.line = true, g.side.set.PositionFor(g.decl.Pos(), false).Line
	if g.name == "TestMain" {
		g.counts[off] = 1
	}
	g.visit(g.decl.Type)
	g.block(g.decl.Body)
	for _, c := range g.closures {
		if c.called {
			c.counts[assertions], c.counts[exact] = 0, 0
		}
		g.counts.add(c.counts)
	}
	g.test = g.test && !g.suite && g.name != "TestMain"
	g.outputs()
	for _, a := range g.assigned {
		if g.used[a.name] {
			g.values(a.value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.used)) {
		if v := g.side.values[name]; v != nil {
			g.values(v)
		}
	}
}

// outputs adds the output of an example, which is an assertion.
func (g *goFunction) outputs() {
	if !g.test || g.name[0] != 'E' {
		return
	}
	own := g.source(g.decl)
	at := output.FindStringIndex(own)
	if at == nil {
		return
	}
	g.counts[assertions]++
	g.counts[exact]++
	for l := range strings.Lines(own[at[1]:]) {
		g.literals = append(g.literals, literal{value{'o', strings.TrimSpace(strings.TrimLeft(l, " \t/"))}, g.path, g.line})
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
		}
	case *ast.BlockStmt:
		g.block(n)
		return false
	case *ast.AssignStmt:
		return g.assign(n)
	case *ast.ValueSpec:
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
		had, times := g.counts, g.times
		g.counts, g.times = counts{}, 1
		ast.Inspect(f, g.visit)
		g.closures[name(l)] = &goFunction{unit: unit{counts: g.counts}, done: true}
		g.counts, g.times = had, times
		return false
	}
	return true
}

// table is the table that an expression names, and its number of rows where the text shows it.
func (g *goFunction) table(e ast.Expr, depth int) (*ast.CompositeLit, int) {
	switch e := e.(type) {
	case *ast.CompositeLit:
		return e, len(e.Elts)
	case *ast.Ident:
		if depth < 4 {
			return g.table(g.value(e.Name), depth+1)
		}
	case *ast.CallExpr: // slices.Values, maps.Keys
		if len(e.Args) > 0 {
			return g.table(e.Args[0], depth+1)
		}
	}
	return nil, 0
}

// value is what a name was given last.
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
	had, times := g.counts, g.times
	g.times = min(times*max(rows, 1), 1<<20)
	ast.Inspect(n.X, g.visit)
	g.block(n.Body)
	g.times = times
	if more := g.counts[cases] > had[cases]; rows > 0 && (more || g.counts[assertions] > had[assertions]) {
		if !more {
			g.counts[cases] += rows
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
		had := g.counts
		g.block(n.Body)
		gained := g.counts[assertions] - had[assertions]
		cond, ok := n.Cond.(*ast.BinaryExpr)
		switch {
		case gained == 0 && len(g.testing) > 0:
			g.counts[exits] += leaves(n.Body)
		case ok && cond.Op == token.NEQ && name(cond.Y) == "nil" && g.prepared(cond.X):
			g.counts[assertions] = had[assertions]
		default:
			g.use(n.Cond)
			one := compares(n.Cond, token.NEQ)
			if a, ok := n.Init.(*ast.AssignStmt); ok {
				g.use(a.Rhs...)
				one = one || compares(a, token.NEQ)
			}
			if one && !anything.MatchString(g.text[n.Pos()-g.base:n.Body.Pos()-g.base]) {
				g.counts[exact] += gained
			}
		}
	}
	if n.Else != nil {
		ast.Inspect(n.Else, g.visit)
	}
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
var labels = set(`name desc description title msg message scenario label about comment why`)

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

func (g *goFunction) literal(at token.Pos, kind byte, text string) {
	place := g.side.set.PositionFor(at, false)
	g.literals = append(g.literals, literal{value{kind, text}, place.Filename, place.Line})
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
