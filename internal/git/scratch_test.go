package git

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTemporaryDirectoriesOfKilledProcessesAreRemoved(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	dir, remove, err := scratch()
	require.NoError(t, err)
	stale, fresh, other := filepath.Join(temp, "divisi-git-1"), filepath.Join(temp, "divisi-git-2"), filepath.Join(temp, "divisi-x-3")
	for _, d := range []string{stale, fresh, other} {
		require.NoError(t, os.MkdirAll(filepath.Join(d, "view"), 0o700))
	}
	for _, d := range []string{dir, stale, other} {
		require.NoError(t, os.Chtimes(d, time.Time{}, time.Now().Add(-2*scratchAge)))
	}
	clearScratch()
	require.NoDirExists(t, stale)
	require.DirExists(t, fresh, "its process may not hold it yet")
	require.DirExists(t, other)
	require.DirExists(t, dir, "this process holds it")
	require.NoError(t, remove())
	require.NoDirExists(t, dir)
}
