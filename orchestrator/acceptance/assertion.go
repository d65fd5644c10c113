package acceptance

import (
	"go/ast"
	"go/constant"
	"go/token"
	"slices"
	"strings"
)

var (
	unary   = re(`^(?:NoError|Error|True|False|Nil|NotNil|Empty|NotEmpty|Zero|NotZero|Panics|NotPanics|Positive|Negative)f?$`)
	ternary = re(`^(?:In(?:Delta|Epsilon)\w*|WithinDuration|Eventually\w*|Never|EventuallyWithT)f?$`)
	exactly = re(`^(?:Equal|EqualValues|Exactly|Same|JSONEq|YAMLEq|EqualError|ErrorIs|ErrorAs|Len|ElementsMatch|` +
		`DeepEqual|MatchJSON|HaveLen|Empty|Zero)f?$`)
	equality = re(`(?:Equal|EqualFold|\bIs|Compare|DeepEqual)$`)
	// setup are calls whose failure says nothing of the code under test.
	setup = re(`^(?:os|ioutil)\.(?:MkdirTemp|TempDir|TempFile|CreateTemp|Setenv|Unsetenv|RemoveAll|Remove|Chdir|` +
		`MkdirAll|Mkdir|WriteFile|Getwd)\(\)$`)
	foreign = re(`^(?i:check|assert|require|must|verify|expect|equal)`)
	nameKey = re(`^(?i:name|desc|description|title|msg|message|scenario|label|about|comment|why)$`)
)

// goFunction is a function of a test file that is being read.
type goFunction struct {
	side *goSide
	path string
	name string
	line func(token.Pos) int
	text []byte
	base token.Pos
	at   token.Pos
	test bool
	// testing are the names of parameters such as t *testing.T, its own and those of the functions in it.
	testing  []string
	counts   counts
	literals []literal
	calls    []goCall
	closures map[string]*goFunction
	tables   map[string]ast.Expr
	// used are the names in assertions, assigned what names are given.
	used     map[string]bool
	assigned []assignment
	// times is how often an assertion at this place runs, by the tables around it; loops counts the loops around it.
	times, loops int
	// runs reports whether it calls a method Run, suite whether it only runs a suite.
	runs, suite, called, resolved bool
}

type goCall struct {
	name          string
	times, weight int
	closure       *goFunction
}

type assignment struct {
	name  string
	value ast.Expr
}

func skipping(full string) bool {
	_, last, method := cutLast(full)
	return method && (last == "Skip" || last == "Skipf" || last == "SkipNow")
}

// asserting reports whether a name is that of an assertion wherever it is called.
func asserting(full string) bool {
	base, last, _ := cutLast(full)
	switch base {
	case "require", "assert", "must", "should", "qt":
		return last != "New"
	}
	switch last {
	case "Expect", "ExpectWithOffset", "Eventually", "Consistently", "So", "Ω":
		return true
	}
	return false
}

var failures = strings.Fields("Equal Error Fail Fatal True False Nil Len Empty Zero Contains Same Subset Elements Exactly " +
	"Panics Regexp " +
	"Implements IsType Greater Less Positive Negative InDelta InEpsilon Within JSONEq YAMLEq HTTP Condition Never FileExists " +
	"DirExists Assert Check")

// failing reports whether a name is that of a method that asserts, where its result is not used.
func failing(full string) bool {
	_, last, method := cutLast(full)
	last = strings.TrimPrefix(strings.TrimPrefix(last, "Not"), "No")
	return method && slices.ContainsFunc(failures, func(prefix string) bool { return strings.HasPrefix(last, prefix) })
}

// source is the text of a node.
func (g *goFunction) source(n ast.Node) []byte { return g.text[n.Pos()-g.base : n.End()-g.base] }

// block counts the statements of a function. What follows a return, a skip or a panic in it is never run.
func (g *goFunction) block(b *ast.BlockStmt) {
	for _, s := range b.List {
		ast.Inspect(s, g.visit)
		switch s := s.(type) {
		case *ast.ReturnStmt, *ast.BranchStmt:
			return
		case *ast.ExprStmt:
			if called, _ := strings.CutSuffix(name(s.X), "()"); called == "panic" || called == "os.Exit" || skipping(called) {
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
	case *ast.AssignStmt:
		return g.assign(n)
	case *ast.ValueSpec:
		for i, v := range n.Values {
			if len(n.Names) == len(n.Values) {
				g.define(n.Names[i].Name, v)
			}
		}
	case *ast.RangeStmt:
		g.loop(n)
		return false
	case *ast.ForStmt:
		g.loops++
		g.block(n.Body)
		g.loops--
		return false
	case *ast.IfStmt:
		g.branch(n)
		return false
	case *ast.ExprStmt:
		if c, ok := n.X.(*ast.CallExpr); ok {
			g.call(c, true)
			ast.Inspect(c.Fun, g.visit)
			for _, a := range c.Args {
				ast.Inspect(a, g.visit)
			}
			return false
		}
	case *ast.CallExpr:
		g.call(n, false)
	}
	return true
}

// assign notes what names are given. A function with a name counts where it is called.
func (g *goFunction) assign(n *ast.AssignStmt) bool {
	if len(n.Lhs) != len(n.Rhs) {
		for _, l := range n.Lhs {
			g.assigned = append(g.assigned, assignment{name(l), n.Rhs[0]})
		}
		return true
	}
	for i, l := range n.Lhs {
		if f, ok := n.Rhs[i].(*ast.FuncLit); ok && len(n.Lhs) == 1 {
			child := *g
			child.counts, child.literals, child.calls, child.assigned, child.closures = counts{}, nil, nil, nil, nil
			child.times, child.loops = 1, 0
			child.block(f.Body)
			if g.closures == nil {
				g.closures = map[string]*goFunction{}
			}
			g.closures[name(l)] = &child
			return false
		}
		g.define(name(l), n.Rhs[i])
	}
	return true
}

func (g *goFunction) define(name string, value ast.Expr) {
	g.assigned = append(g.assigned, assignment{name, value})
	if g.tables == nil {
		g.tables = map[string]ast.Expr{}
	}
	g.tables[name] = value
}

// call counts one call; statement reports that its result is not used.
func (g *goFunction) call(c *ast.CallExpr, statement bool) {
	full := name(c.Fun)
	base, last, method := cutLast(full)
	_, helper := g.side.helpers[last]
	switch {
	case skipping(full):
		g.counts[skips]++
	case full == "recover":
		g.counts[exits]++
	case g.name == "TestMain" && g.helps(c): // goleak.VerifyTestMain(m)
		g.runs = true
	case last == "Run" && method:
		g.runs, g.suite = true, g.suite || base == "suite"
		if g.loops == 0 && len(c.Args) == 2 && base != "suite" {
			g.counts[cases]++
		}
	case last == "Add" && slices.Contains(g.testing, base):
		g.counts[cases]++
	case g.closures[full] != nil:
		g.calls = append(g.calls, goCall{closure: g.closures[full], times: g.times})
		g.use(c.Args...)
	case asserting(full):
		g.assertion(c, last)
	case !statement:
	case strings.HasPrefix(full, "Expect()") || strings.HasPrefix(full, "Ω()"):
		g.use(c.Args...)
		for _, a := range c.Args {
			if inner, ok := a.(*ast.CallExpr); ok && exactly.MatchString(name(inner.Fun)) {
				g.counts[exact] += g.times
			}
		}
	case failing(full) && slices.Contains(g.testing, base):
		g.counts[assertions] += g.times
	case g.helps(c), helper && method:
		weight := 1
		if method && !helper && foreign.MatchString(last) {
			weight = 3
		}
		if !method || helper || !failing(full) {
			g.calls = append(g.calls, goCall{name: last, times: g.times, weight: weight})
			g.use(c.Args...)
			return
		}
		g.assertion(c, last)
	case failing(full):
		g.assertion(c, last)
	}
}

func cutLast(full string) (base, last string, method bool) {
	if i := strings.LastIndexByte(full, '.'); i >= 0 {
		return full[:i], full[i+1:], true
	}
	return "", full, false
}

// assertion counts one call of an assertion that could fail.
func (g *goFunction) assertion(c *ast.CallExpr, last string) {
	args := c.Args
	if len(args) > 0 && g.isT(args[0]) {
		args = args[1:]
	}
	most := 2
	switch {
	case strings.HasPrefix(last, "Fail"):
		most = 0
	case unary.MatchString(last):
		most = 1
	case ternary.MatchString(last):
		most = 3
	}
	args = args[:min(len(args), most)]
	if len(args) > 0 && !slices.ContainsFunc(args, func(e ast.Expr) bool { return !constantly(e) }) ||
		len(args) > 1 && g.same(args[0], args[1]) || strings.HasPrefix(last, "NoError") && len(args) > 0 && g.prepared(args[0]) {
		return
	}
	g.counts[assertions] += g.times
	same := strings.HasPrefix(last, "True") && len(args) > 0 && equal(args[0])
	if same || exactly.MatchString(last) && !slices.ContainsFunc(args, plain) {
		g.counts[exact] += g.times
	}
	g.use(args...)
}

// equal reports whether an expression is a comparison for equality.
func equal(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return e.Op == token.EQL
	case *ast.CallExpr:
		return equality.MatchString(name(e.Fun))
	}
	return false
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

// values collects the literals of an expression, but for the names of cases and the messages of failures.
func (g *goFunction) values(e ast.Expr) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.KeyValueExpr:
			return !nameKey.MatchString(name(n.Key))
		case *ast.UnaryExpr:
			if lit, ok := n.X.(*ast.BasicLit); ok && n.Op == token.SUB {
				g.literal(lit, "-")
				return false
			}
		case *ast.BasicLit:
			g.literal(n, "")
		case *ast.Ident:
			if n.Name == "true" || n.Name == "false" {
				g.literals = append(g.literals, literal{'b', n.Name, g.line(n.Pos())})
			}
		}
		return true
	})
}

func (g *goFunction) literal(lit *ast.BasicLit, sign string) {
	kind := byte('n')
	if lit.Kind == token.STRING {
		kind = 's'
	}
	value := lit.Value
	if len(value) < 256 { // exact numbers with large exponents take time
		if v := constant.MakeFromLiteral(value, lit.Kind, 0); lit.Kind == token.STRING && v.Kind() == constant.String {
			value = constant.StringVal(v)
		} else if lit.Kind == token.INT {
			value = v.ExactString()
		}
	}
	g.literals = append(g.literals, literal{kind, sign + value, g.line(lit.Pos())})
}

// helps reports whether a call is given t or s.T().
func (g *goFunction) helps(call *ast.CallExpr) bool { return slices.ContainsFunc(call.Args, g.isT) }

func (g *goFunction) isT(e ast.Expr) bool {
	return slices.Contains(g.testing, name(e)) || strings.HasSuffix(name(e), ".T()")
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
