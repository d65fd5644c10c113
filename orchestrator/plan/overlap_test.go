package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

func TestOverlapsFindsEachPairOnce(t *testing.T) {
	t.Parallel()
	got := Overlaps([]spec.Task{
		{ID: "a", Files: []string{"x.go", "y.go"}},
		{ID: "b", Files: []string{"y.go", "x.go"}},
		{ID: "c", Files: []string{"z/**"}},
		{ID: "d", Files: []string{"z/q.go"}},
		{ID: "e"},
	}, 10)
	require.Equal(t, []run.Overlap{{A: "a", B: "b", Path: "y.go"}, {A: "c", B: "d", Path: "z/q.go"}}, got)
	require.Empty(t, Overlaps([]spec.Task{{ID: "a", Files: []string{"x.go"}}, {ID: "b", Files: []string{"x.go"}}}, 0))
}
