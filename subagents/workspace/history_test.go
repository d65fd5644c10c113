package workspace_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/subagents/workspace"
)

func TestFilesAndDiffOfAPath(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "a\n", "sub/b.txt": "b\n", ".gitignore": "*.log\nbuild/\n", "kept.log": "k\n"})
	s, err := b.pool.Acquire(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { b.pool.Release(s) })
	_, err = s.Files(t.Context())
	require.ErrorIs(t, err, workspace.ErrNotReset)
	_, _, err = s.DiffPath(t.Context(), b.base, "sub", 1000)
	require.ErrorIs(t, err, workspace.ErrNotReset)
	require.NoError(t, s.Reset(t.Context(), b.base))
	for name, text := range map[string]string{
		"sub/b.txt": "B\n", "new\n.txt": "n\n", "out.log": "ignored\n", "build/x": "ignored\n", "a.txt": "A\n",
	} {
		write(t, filepath.Join(s.Dir(), name), text)
	}
	files, err := s.Files(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"a.txt", "sub/b.txt", ".gitignore", "new\n.txt"}, files)
	text, _, err := s.DiffPath(t.Context(), b.base, "sub", 1000)
	require.NoError(t, err)
	require.Contains(t, text, "+B\n")
	require.NotContains(t, text, "a.txt")
}
