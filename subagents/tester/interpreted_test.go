package tester

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExperimentsKeepThePathOfPython(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"A=1", "PYTHONPATH=/own:src"}, afterPath([]string{"A=1", "PYTHONPATH=/own"}, []string{"PYTHONPATH=src"}))
	require.Equal(t, []string{"PYTHONPATH=/own"}, afterPath([]string{"PYTHONPATH=/own"}, []string{"A=1"}))
}
