package orchestrator_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program that embeds the package cannot name the types of divisi's other packages: none stands in what is exported, but as an
// alias, which has a name here, of the rooms next to the façade. Only the arguments of an act are those of the table of acts.
func TestTheAPINamesNoOtherPackageOfDivisi(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	checked := 0
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, 0)
		require.NoError(t, err)
		for _, name := range exported(file) {
			checked++
			require.Empty(t, leaks(file, name), "%s: it is exported", entry.Name())
		}
	}
	require.Greater(t, checked, 15)
}

func TestALeakIsFound(t *testing.T) {
	t.Parallel()
	const head = "package p\nimport (\"divisi/bus\"; state \"divisi/orchestrator/run\"; \"divisi/orchestrator/view\"; \"context\")\ntype hidden struct{}\n"
	for _, leak := range []string{
		"func F(b *bus.Bus) {}", "func F() (state.State, error)", "type T struct { S []state.State }", "type T struct { bus.Bus }",
		"type T = state.State", "type T interface { M(bus.Bus) }", "var V = bus.ErrFull", "type R struct{}; func (R) M(map[string]bus.Bus) {}",
		"func F(hidden) {}", "type T view.Report", "func F(view.Report)", "type T = []view.Report", "type T struct { view.Report }",
	} {
		require.NotEmpty(t, leaksOf(t, head+leak), leak)
	}
	for _, fine := range []string{
		"func f(b bus.Bus) {}", "type T struct { s state.State }", "func (hidden) M(bus.Bus) {}", "func F(ctx context.Context) { _ = bus.ErrFull }",
		"type T = view.Report; func F(T) []T", "type ( T = view.Report; V = view.Row )",
	} {
		require.Empty(t, leaksOf(t, head+fine), fine)
	}
}

func leaksOf(t *testing.T, text string) (found []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", text, 0)
	require.NoError(t, err)
	for _, node := range exported(file) {
		found = append(found, leaks(file, node)...)
	}
	return found
}

// exported are the parts of a file that a program can see: signatures, types without their hidden fields, values.
func exported(file *ast.File) (nodes []ast.Node) {
	if !ast.FileExports(file) { // removes what is hidden: declarations, methods of hidden types, fields
		return nil
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || ast.IsExported(typeNames(d.Recv.List[0].Type)[0]) {
				nodes = append(nodes, d.Type)
			}
		case *ast.GenDecl:
			if d.Tok != token.IMPORT {
				nodes = append(nodes, d)
			}
		}
	}
	return nodes
}

// rooms are those whose types the façade may name anew.
var rooms = []string{
	"divisi/orchestrator/act", "divisi/orchestrator/client", "divisi/orchestrator/conduct", "divisi/orchestrator/depot",
	"divisi/orchestrator/door", "divisi/orchestrator/fault", "divisi/orchestrator/view",
}

// leaks are the names in a node that belong to another package of divisi, and the hidden types of its own.
func leaks(file *ast.File, node ast.Node) (found []string) {
	foreign, next := map[string]bool{}, map[string]bool{}
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil || !strings.HasPrefix(path, "divisi/") || path == "divisi/orchestrator/act" {
			continue
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		foreign[name], next[name] = true, slices.Contains(rooms, path)
	}
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			of, named := n.Type.(*ast.SelectorExpr)
			return !n.Assign.IsValid() || !named || !next[of.X.(*ast.Ident).Name]
		case *ast.ValueSpec: // an error of a room behind this one has the type error
			if n.Type != nil || len(n.Values) == 0 {
				return true
			}
			of, named := n.Values[0].(*ast.SelectorExpr)
			return !named || !next[of.X.(*ast.Ident).Name]
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && foreign[x.Name] {
				found = append(found, x.Name+"."+n.Sel.Name)
			}
			return false
		case *ast.Field:
			for _, name := range typeNames(n.Type) {
				if !ast.IsExported(name) && !basic[name] {
					found = append(found, name)
				}
			}
		}
		return true
	})
	return found
}

var basic = map[string]bool{
	"string": true, "bool": true, "int": true, "int64": true, "error": true, "byte": true, "any": true, "uint64": true, "float64": true,
}

// typeNames are the unqualified names of a type.
func typeNames(expr ast.Expr) (names []string) {
	ast.Inspect(expr, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr, *ast.FuncType, *ast.StructType, *ast.InterfaceType:
			return false
		case *ast.Ident:
			names = append(names, n.Name)
		}
		return true
	})
	return names
}
