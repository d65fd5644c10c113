package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTopIsTheRepositoryAroundADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b")
	require.NoError(t, os.MkdirAll(deep, 0o700))
	require.Equal(t, deep, Top(deep))
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".git"), 0o700))
	require.Equal(t, dir, Top(deep))
}
