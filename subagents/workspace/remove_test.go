package workspace_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/subagents/workspace"
)

// makeDeep makes a chain of directories that no path can name, as a command does that goes down step by step.
func makeDeep(t *testing.T, top string, depth int) {
	t.Helper()
	root, err := os.OpenRoot(top)
	require.NoError(t, err)
	for range depth {
		require.NoError(t, root.Mkdir("d", 0o700))
		next, err := root.OpenRoot("d")
		require.NoError(t, err)
		require.NoError(t, root.Close())
		root = next
	}
	require.NoError(t, root.Close())
}

// closed makes a directory that its owner may not write, with something in it.
func closed(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "in"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "in", "f"), nil, 0o400))
	require.NoError(t, os.Chmod(filepath.Join(dir, "in"), 0o500))
	require.NoError(t, os.Chmod(dir, 0o500))
}

func TestRemoveTakesWhateverACommandLeft(t *testing.T) {
	t.Parallel()
	kept := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(kept, "mine"), nil, 0o600))
	dir := filepath.Join(t.TempDir(), "private")
	require.NoError(t, os.Mkdir(dir, 0o700))
	for i := range 3 {
		below := filepath.Join(dir, strings.Repeat("x", i+1))
		require.NoError(t, os.Mkdir(below, 0o700))
		makeDeep(t, below, 3000)
		closed(t, filepath.Join(below, "closed"))
		require.NoError(t, os.Symlink(kept, filepath.Join(below, "link")))
	}
	require.NoError(t, os.Symlink(kept, filepath.Join(dir, "link")))
	closed(t, filepath.Join(dir, "closed"))
	require.NoError(t, workspace.Remove(dir))
	require.NoDirExists(t, dir)
	require.FileExists(t, filepath.Join(kept, "mine"))
	require.NoError(t, workspace.Remove(dir), "what is gone already")
}

func TestASlotOfAnyDepthIsReset(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "a\n"})
	s := b.slot(t)
	makeDeep(t, s.Dir(), 3000)
	closed(t, filepath.Join(s.Dir(), "d", "closed"))
	require.NoError(t, s.Reset(t.Context(), b.base))
	entries, err := os.ReadDir(s.Dir())
	require.NoError(t, err)
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.Equal(t, []string{".git", "a.txt"}, names)
	_, err = os.Lstat(filepath.Join(s.Dir(), "d"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}
