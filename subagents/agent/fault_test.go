package agent

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/model"
	"divisi/subagents/wire"
)

// modelClasses are the classes of model error, as their package declares them.
func modelClasses(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../internal/model/error.go", nil, 0)
	require.NoError(t, err)
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := v.Type.(*ast.Ident); ok && of.Name == "Class" {
			class, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			out = append(out, class)
		}
		return true
	})
	return out
}

// The conductor decides by the class of a fault, so each class of model error has its line in the table, and all but the budget's
// keep their name behind "model_".
func TestEveryClassOfModelErrorHasAFaultClass(t *testing.T) {
	t.Parallel()
	classes := modelClasses(t)
	require.Len(t, classes, 13)
	for _, class := range classes {
		require.Contains(t, policies, class)
		want := wire.FaultModel + class
		if class == string(model.OverBudget) {
			want = wire.FaultBudget
		}
		require.Equal(t, want, policyOf(class).class)
		require.NotEmpty(t, policyOf(class).status)
	}
}
