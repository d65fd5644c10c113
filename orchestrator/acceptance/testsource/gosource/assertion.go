package gosource

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/acceptance/testsource"
)

// What is known of functions by their names, without the f of those that format.
var (
	// frameworks are the packages whose functions assert.
	frameworks = text.Set(`require assert must should qt`)
	// failures begin the names of methods that assert, after No or Not, where their result is not used.
	failures = strings.Fields(`Equal Error Fail Fatal True False Nil Len Empty Zero Contains Same Subset Elements Exactly Panics
		Regexp Implements IsType Greater Less Positive Negative InDelta InEpsilon Within JSONEq YAMLEq HTTP Condition Never
		FileExists DirExists Assert Check`)
	// one and three are assertions of so many operands; others have two.
	one   = text.Set(`NoError Error True False Nil NotNil Empty NotEmpty Zero NotZero Panics NotPanics Positive Negative`)
	three = text.Set(`InDelta InEpsilon WithinDuration Eventually Never EventuallyWithT Assert Check`)
	// exactly are assertions of one value, equality functions that compare.
	exactly  = text.Set(`Equal EqualValues Exactly Same JSONEq YAMLEq EqualError ErrorIs ErrorAs DeepEqual Empty Zero`)
	equality = text.Set(`Equal EqualFold Is Compare DeepEqual Diff`)
	// chain begins a statement whose methods report what is expected, anything is what takes any value.
	chain    = re(`^(?:\w+\.)?(?:Expect|EXPECT)\(\)\.`)
	anything = re(`\b(?:Any(?:thing|Times|Of\w*)?|Maybe|Ignore\w+)\b`)
)

func skipping(full string) bool {
	_, last, method := cutLast(full)
	return method && (last == "Skip" || last == "SkipNow")
}

// cutLast cuts a name at its last dot. The f of functions that format goes.
func cutLast(full string) (base, last string, method bool) {
	i := strings.LastIndexByte(full, '.')
	return full[:max(i, 0)], strings.TrimSuffix(full[i+1:], "f"), i >= 0
}

// failing reports whether a name is that of a method that asserts, where its result is not used.
func failing(last string) bool {
	last = strings.TrimPrefix(strings.TrimPrefix(last, "Not"), "No")
	return slices.ContainsFunc(failures, func(prefix string) bool { return strings.HasPrefix(last, prefix) })
}

// call counts one call; statement reports that its result is not used.
func (g *goFunction) call(c *ast.CallExpr, statement bool) {
	full := callee(c)
	base, last, method := cutLast(full)
	switch {
	case skipping(full):
		g.Counts[testsource.Skips]++
	case full == "recover":
		g.Counts[testsource.Exits]++
	case g.Name == "TestMain" && (method && last == "Run" || g.helps(c)): // goleak.VerifyTestMain(m)
		g.Counts[testsource.Off] = 0
	case method && last == "Run" && base == "suite":
		g.suite = true
	case method && last == "Run" && len(c.Args) == 2:
		g.Counts[testsource.Cases] += g.times
	case last == "Add" && slices.Contains(g.testing, base):
		g.Counts[testsource.Cases]++
	case g.closures[full] != nil:
		g.runs(g.closures[full], c, statement)
	case frameworks[base] && last != "New", full == "So":
		g.assertion(c, last)
	case g.side.helpers[last] != nil:
		g.runs(g.side.helpers[last], c, statement)
	case !statement:
	case chain.MatchString(full):
		g.Counts[testsource.Assertions] += g.times
		g.Counts[testsource.Once]++
		g.exactly(c)
		g.use(c)
	case method && failing(last) && slices.Contains(g.testing, base):
		g.Counts[testsource.Assertions] += g.times
		g.Counts[testsource.Once]++
	case method && failing(last):
		g.assertion(c, last)
	case g.helps(c):
		asserts := testsource.Counts{testsource.Assertions: 1, testsource.Exact: 1, testsource.Once: 1}
		g.runs(&goFunction{Unit: testsource.Unit{Counts: asserts}, done: true}, c, statement)
	}
}

// runs counts what a helper asserts, once for each call. What one gets whose result is used is no expected value.
func (g *goFunction) runs(helper *goFunction, c *ast.CallExpr, statement bool) {
	helper.read()
	helper.called = true
	for _, kind := range testsource.Asserted {
		g.Counts[kind] += g.times * helper.Counts[kind]
	}
	g.Counts[testsource.Once] -= (g.times - 1) * helper.Counts[testsource.Once]
	if statement && helper.Counts[testsource.Assertions] > 0 {
		g.use(c.Args...)
	}
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
	case one[last]:
		most = 1
	case three[last]:
		most = 3
	}
	args = args[:min(len(args), most)]
	if len(args) > 0 && !slices.ContainsFunc(args, func(e ast.Expr) bool { return !constantly(e) }) ||
		len(args) > 1 && g.same(args[0], args[1]) {
		return
	}
	if last == "NoError" {
		g.Counts[testsource.Errorless]++
		return
	}
	g.Counts[testsource.Assertions] += g.times
	g.Counts[testsource.Once]++
	was, literals := g.Counts, len(g.Literals)
	compared := (last == "True" || last == "Eventually" || last == "Condition") && len(args) > 0 && compares(args[0], token.EQL)
	if (exactly[last] || compared) && !slices.ContainsFunc(args, plain) && !slices.ContainsFunc(args, length) {
		g.exactly(c)
	}
	g.use(args...)
	g.say(g.source(c), was, literals)
}

// say notes an assertion, with the values that it compares, by what the counts have gained.
func (g *goFunction) say(text string, was testsource.Counts, literals int) {
	whole := g.Counts[testsource.Exact] > was[testsource.Exact]
	g.Says = append(g.Says, testsource.Said{Text: text, Whole: whole, Literals: slices.Clone(g.Literals[literals:])})
}

// length reports whether an expression is the length of something, which says little of it.
func length(e ast.Expr) bool {
	c, ok := e.(*ast.CallExpr)
	return ok && name(c.Fun) == "len"
}

// exactly counts an assertion of one value, unless it takes anything.
func (g *goFunction) exactly(n ast.Node) {
	if !anything.MatchString(g.source(n)) {
		g.Counts[testsource.Exact] += g.times
	}
}

// compares reports whether an expression compares with one value: by != in the condition of a failure, by == in an assertion.
func compares(n ast.Node, by token.Token) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			found = found || n.Op == by && !plain(n.X) && !plain(n.Y) && !length(n.X) && !length(n.Y)
		case *ast.CallExpr:
			_, last, method := cutLast(name(n.Fun))
			found = found || equality[last] || !method && strings.HasSuffix(last, "Equal")
		}
		return true
	})
	return found
}

// never reports whether the text of a condition shows that it cannot be true.
func (g *goFunction) never(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "false"
	case *ast.ParenExpr:
		return g.never(e.X)
	case *ast.UnaryExpr:
		c, ok := e.X.(*ast.CallExpr)
		return ok && e.Op == token.NOT && len(c.Args) == 2 && compares(c, token.EQL) && g.same(c.Args[0], c.Args[1])
	case *ast.BinaryExpr:
		switch e.Op {
		case token.LAND:
			return g.never(e.X) || g.never(e.Y)
		case token.NEQ, token.LSS, token.GTR:
			return g.same(e.X, e.Y)
		}
	}
	return false
}

// same reports whether two expressions have one text, or one is a name that was given the other.
func (g *goFunction) same(a, b ast.Expr) bool {
	x, y := g.source(a), g.source(b)
	return x == y || slices.ContainsFunc(g.assigned, func(s assignment) bool {
		id, ok := s.value.(*ast.Ident)
		return ok && (s.name == x && id.Name == y || s.name == y && id.Name == x)
	})
}

func constantly(e ast.Expr) bool {
	_, ok := e.(*ast.BasicLit)
	return ok || plain(e)
}

// plain reports whether an expression is nil, true or false, which other assertions than those of equality name too.
func plain(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && (id.Name == "true" || id.Name == "false" || id.Name == "nil")
}

// helps reports whether a call is given t or s.T().
func (g *goFunction) helps(call *ast.CallExpr) bool { return slices.ContainsFunc(call.Args, g.isT) }

func (g *goFunction) isT(e ast.Expr) bool {
	return slices.Contains(g.testing, name(e)) || strings.HasSuffix(name(e), ".T()")
}
