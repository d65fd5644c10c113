package landing_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mostReturns is how often a rule may return to the state of the run, in all functions of this package that get it.
const mostReturns = 15

// A rule takes its parts out of the state, and hands them on: only those functions get all of it that hand it to another package.
func TestRulesTakePartsOfTheState(t *testing.T) {
	t.Parallel()
	functions := stateFunctions(t)
	for _, rule := range []string{"Land", "Settle"} {
		returns, seen := 0, map[string]bool{}
		var follow func(name string)
		follow = func(name string) {
			if f := functions[name]; f != nil && !seen[name] {
				seen[name] = true
				n, calls := returnsOf(f)
				returns += n
				for _, called := range calls {
					follow(called)
				}
			}
		}
		follow(rule)
		t.Logf("landing.%s: %d functions get the state, and return to it %d times", rule, len(seen), returns)
		require.Contains(t, seen, rule)
		require.LessOrEqual(t, returns, mostReturns, rule)
	}
}

// stateFunctions are the functions of this package whose first parameter is the state s, by their names.
func stateFunctions(t *testing.T) map[string]*ast.FuncDecl {
	t.Helper()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	functions := map[string]*ast.FuncDecl{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || len(f.Type.Params.List) == 0 {
				continue
			}
			if names := f.Type.Params.List[0].Names; len(names) > 0 && isState(names[0]) {
				functions[f.Name.Name] = f
			}
		}
	}
	return functions
}

// returnsOf counts where a function selects a part or a method of the state and does not hand the part on, as an argument or in a
// struct. calls are the functions that it hands the state to.
func returnsOf(f *ast.FuncDecl) (n int, calls []string) {
	handed := map[ast.Expr]bool{}
	hand := func(e ast.Expr) {
		if u, is := e.(*ast.UnaryExpr); is && u.Op == token.AND {
			e = u.X
		}
		handed[e] = true
	}
	ast.Inspect(f.Body, func(node ast.Node) bool {
		switch e := node.(type) {
		case *ast.CallExpr:
			for _, arg := range e.Args {
				hand(arg)
				if name, is := e.Fun.(*ast.Ident); is && isState(arg) {
					calls = append(calls, name.Name)
				}
			}
		case *ast.KeyValueExpr:
			hand(e.Value)
		case *ast.SelectorExpr:
			if isState(e.X) && !handed[e] {
				n++
			}
		}
		return true
	})
	return n, calls
}

func isState(e ast.Expr) bool {
	i, is := e.(*ast.Ident)
	return is && i.Name == "s"
}
