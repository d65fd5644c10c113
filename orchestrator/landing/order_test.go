package landing_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// stages are the files of this package on the way of a patch, in their order. The other files are helpers.
var stages = []string{"queue.go", "batch.go", "gaterun.go", "verdict.go", "move.go"}

// A stage calls the stages behind it and helpers, a helper no stage. Facts are gathered where a rule or a question begins.
func TestStagesCallOnlyTheStagesBehindThem(t *testing.T) {
	t.Parallel()
	set, files := token.NewFileSet(), []*ast.File{}
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			files = append(files, file)
		}
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	check := types.Config{Importer: unknown{}, Error: func(error) {}} // what other packages declare does not matter
	own, _ := check.Check("landing", set, files, &info)
	stageOf := func(at token.Pos) int { return slices.Index(stages, set.Position(at).Filename) }
	var against []string
	seen := map[int]int{}
	for used, object := range info.Uses {
		_, calls := object.(*types.Func)
		from, to := stageOf(used.Pos()), stageOf(object.Pos())
		switch {
		case !calls || object.Pkg() != own || to < 0:
		case from < 0 || to < from:
			against = append(against, set.Position(used.Pos()).String()+" calls "+object.Name()+" of "+stages[to])
		case from < to:
			seen[from]++
		}
	}
	for _, file := range files {
		for _, d := range file.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || f.Body == nil || f.Name.IsExported() {
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if i, is := n.(*ast.Ident); is && i.Name == "factsOf" {
					against = append(against, set.Position(i.Pos()).String()+" gathers facts again")
				}
				return true
			})
		}
	}
	slices.SortFunc(against, cmp.Compare[string])
	t.Logf("landing: calls against the order: %d", len(against))
	require.Empty(t, against)
	for from, stage := range stages[:len(stages)-1] {
		require.Positive(t, seen[from], "%s calls no stage behind it", stage)
	}
}

// unknown imports each package as one without declarations.
type unknown struct{}

func (unknown) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, path[strings.LastIndexByte(path, '/')+1:])
	p.MarkComplete()
	return p, nil
}
