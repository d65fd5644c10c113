package trust

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStore(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state", "trust")
	s, err := Open(dir, t.TempDir())
	require.NoError(t, err)
	d, err := s.Read("id", "/r/.git")
	require.NoError(t, err)
	require.Nil(t, d, "nothing is there")
	require.NoDirExists(t, dir, "reading makes nothing")

	want := Agree("/r/.git", []string{"a"}, time.Unix(1, 0).UTC())
	require.NoError(t, s.Write("id", want))
	require.NoError(t, s.Write("id", want), "again")
	d, err = s.Read("id", "/r/.git")
	require.NoError(t, err)
	require.Equal(t, &want, d)
	info, err := os.Stat(s.Path("id"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
	_, err = s.Read("id", "/other/.git")
	require.ErrorContains(t, err, "does not count: it is about another repository")

	had, err := s.Forget("id")
	require.NoError(t, err)
	require.True(t, had)
	had, err = s.Forget("id")
	require.NoError(t, err)
	require.False(t, had)
}

func TestStoreReadsNothingElse(t *testing.T) {
	t.Parallel()
	s, err := Open(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, syscall.Mkfifo(s.Path("pipe"), 0o600))
	require.NoError(t, os.Mkdir(s.Path("directory"), 0o700))
	require.NoError(t, os.WriteFile(s.Path("cut"), []byte(`{"format":1`), 0o600))
	require.NoError(t, s.Write("target", Agree("/r/.git", nil, time.Time{})))
	require.NoError(t, os.Symlink(s.Path("target"), s.Path("link")))
	for _, id := range []string{"pipe", "directory", "cut", "link"} {
		d, err := s.Read(id, "/r/.git")
		require.ErrorContains(t, err, "does not count: ", id)
		require.Nil(t, d)
	}
}

// A clone could bring a decision, also below a directory that a link of the person's leads into.
func TestStoreLiesOutsideTheRepository(t *testing.T) {
	t.Parallel()
	tree, elsewhere := t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(tree, "state"), 0o700))
	require.NoError(t, os.Symlink(filepath.Join(tree, "state"), filepath.Join(elsewhere, "link")))
	require.NoError(t, os.Symlink(tree, filepath.Join(elsewhere, "tree")))
	for _, dir := range []string{
		tree, filepath.Join(tree, "state"), filepath.Join(tree, "not", "there"), filepath.Join(elsewhere, "link", "trust"),
	} {
		_, err := Open(dir, elsewhere+"/none", tree)
		require.ErrorIs(t, err, ErrInside, dir)
		_, err = Open(dir, filepath.Join(elsewhere, "tree"))
		require.ErrorIs(t, err, ErrInside, dir)
	}
	for _, dir := range []string{elsewhere, tree + "-state", filepath.Dir(tree)} {
		_, err := Open(dir, tree)
		require.NoError(t, err, dir)
	}
}
