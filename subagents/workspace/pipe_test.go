//go:build unix

package workspace_test

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A pipe in the place of a file that git obeys would have each git wait that lists files. No pipe outlasts a reset.
func TestPipesHoldNothingUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	b := newBundle(t, map[string]string{"a.txt": "a\n", "d/b.txt": "b\n", "d/.gitattributes": "* -text\n"})
	for _, name := range []string{".gitignore", "d/.gitignore", "new/.gitignore", ".gitattributes", "d/.gitattributes", "conftest.py"} {
		s := b.slot(t)
		leave := func() {
			write(t, filepath.Join(s.Dir(), "new", "c.txt"), "c\n")
			_ = syscall.Unlink(filepath.Join(s.Dir(), name)) // it need not be there
			require.NoError(t, syscall.Mkfifo(filepath.Join(s.Dir(), name), 0o600))
		}
		leave()
		p, _, err := s.Collect(ctx, b.base, "m", author, noon)
		require.NoError(t, err, name)
		require.Contains(t, p.Files, "new/c.txt")
		for _, end := range []func() error{
			func() error { return s.Reset(ctx, b.base) },
			func() error { _, err := s.Restore(ctx, b.base); return err },
		} {
			leave()
			require.NoError(t, end(), name)
			require.Len(t, onDisk(t, s.Dir()), 3, name)
			settled(t, s, b.base)
		}
	}
}

// A tree that is put back after git had taken odd names into the index is known to be the commit's.
func TestRestoreAfterALookByGit(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "a\n", "d/b.txt": "b\n"})
	s := b.slot(t)
	write(t, filepath.Join(s.Dir(), "ü"), "new\n")
	write(t, filepath.Join(s.Dir(), "a.txt"), "changed\n")
	p, pack, err := s.Collect(t.Context(), b.base, "m", author, noon)
	require.NoError(t, err)
	require.NoError(t, b.mirror.Import(t.Context(), pack))
	_, err = s.Restore(t.Context(), b.base)
	require.NoError(t, err)
	require.Len(t, onDisk(t, s.Dir()), 2)
	require.NoError(t, s.Reset(t.Context(), p.Commit))
	require.Equal(t, "changed\n", read(t, filepath.Join(s.Dir(), "a.txt")))
	require.Equal(t, "new\n", read(t, filepath.Join(s.Dir(), "ü")))
}
