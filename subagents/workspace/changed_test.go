package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"divisi/subagents/workspace"

	"github.com/stretchr/testify/require"
)

func TestChangesAreListedWithoutStoringThem(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "a", "gone.txt": "g", "sub/b.txt": "b", ".gitignore": "*.log\n"})
	s, err := b.pool.Acquire(t.Context())
	require.NoError(t, err)
	defer b.pool.Release(s)
	_, err = s.Changed(t.Context())
	require.ErrorIs(t, err, workspace.ErrNotReset)
	require.NoError(t, s.Reset(t.Context(), b.base))
	changed, err := s.Changed(t.Context())
	require.NoError(t, err)
	require.Empty(t, changed)
	before := objects(t, s)

	write(t, filepath.Join(s.Dir(), "a.txt"), "other")
	write(t, filepath.Join(s.Dir(), "new", "large.bin"), strings.Repeat("x", 1<<20))
	write(t, filepath.Join(s.Dir(), "x.log"), "ignored")
	require.NoError(t, os.Remove(filepath.Join(s.Dir(), "gone.txt")))
	changed, err = s.Changed(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a.txt", "gone.txt", "new/large.bin"}, changed)
	require.Equal(t, before, objects(t, s))
	require.NoError(t, s.Reset(t.Context(), b.base))
}

// objects are the files of a slot's own object store.
func objects(t *testing.T, s *workspace.Slot) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(filepath.Join(s.GitDir(), "objects"), func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	}))
	return names
}
