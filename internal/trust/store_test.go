package trust

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

func open(t *testing.T, dir, identity, repository string) *Store {
	t.Helper()
	s, err := Open(dir, identity, repository)
	require.NoError(t, err)
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state", "trust")
	s := open(t, dir, "id", "/r/.git")
	d, err := s.Read()
	require.NoError(t, err)
	require.Nil(t, d, "nothing is there")
	require.NoDirExists(t, dir, "reading makes nothing")
	had, err := s.Forget()
	require.NoError(t, err)
	require.False(t, had)

	for range 2 {
		_, err = s.Write([]string{"a"}, time.Unix(1, 0).UTC())
		require.NoError(t, err)
	}
	d, err = s.Read()
	require.NoError(t, err)
	want := agreed("a")
	require.Equal(t, &want, d)
	info, err := os.Stat(filepath.Join(dir, "id.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
	_, err = open(t, dir, "id", "/other/.git").Read()
	require.ErrorContains(t, err, "does not count: it is about another repository")
	d, err = open(t, dir, "other", "/r/.git").Read()
	require.NoError(t, err)
	require.Nil(t, d)
	d, err = s.About(Twin).Read()
	require.NoError(t, err)
	require.Nil(t, d, "a decision of its own")
	_, err = s.About(Twin).Write(Unconfined(&spec.Project{Setup: spec.Setup{Command: []string{"make", "deps"}}}), time.Unix(1, 0).UTC())
	require.NoError(t, err)
	d, err = s.About(Twin).Read()
	require.NoError(t, err)
	require.Equal(t, []string{"outside the sandbox, as you: setup: make deps"}, d.Requests)
	had, err = s.Forget()
	require.NoError(t, err)
	require.True(t, had)
	left, err = os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "those about other subjects too")
}

// Two lists of a subject each keep their decision, and one that no person has seen has none.
func TestEachListOfASubjectHasItsDecision(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), "id", "/r/.git")
	for _, list := range [][]string{{"a"}, {"b"}} {
		_, err := s.List(Roles, list).Write(list, time.Unix(1, 0).UTC())
		require.NoError(t, err)
	}
	for _, list := range [][]string{{"a"}, {"b"}, {"a", "b"}} {
		d, err := s.List(Roles, list).Read()
		require.NoError(t, err)
		require.Equal(t, len(list) == 1, d.Covers(list))
	}
}

func TestStoreReadsNothingElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(id string) string { return filepath.Join(dir, id+".json") }
	require.NoError(t, syscall.Mkfifo(path("pipe"), 0o600))
	require.NoError(t, os.Mkdir(path("directory"), 0o700))
	require.NoError(t, os.WriteFile(path("cut"), []byte(`{"format":1`), 0o600))
	require.NoError(t, os.WriteFile(path("huge"), nil, 0o600))
	require.NoError(t, os.Truncate(path("huge"), maxFile+1))
	_, err := open(t, dir, "target", "/r/.git").Write(nil, time.Time{})
	require.NoError(t, err)
	require.NoError(t, os.Symlink(path("target"), path("link")))
	for _, id := range []string{"pipe", "directory", "cut", "huge", "link"} {
		d, err := open(t, dir, id, "/r/.git").Read()
		require.ErrorContains(t, err, "does not count: it is damaged", id)
		require.Nil(t, d)
	}
}

// A clone could bring a decision, also below a directory that a link of the person's leads into.
func TestStoreLiesOutsideTheRepository(t *testing.T) {
	t.Parallel()
	tree, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	elsewhere := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(tree, "state"), 0o700))
	require.NoError(t, os.Symlink(filepath.Join(tree, "state"), filepath.Join(elsewhere, "link")))
	for _, dir := range []string{
		tree, filepath.Join(tree, "state"), filepath.Join(tree, "not", "there"), filepath.Join(elsewhere, "link", "trust"),
	} {
		_, err := Open(dir, "id", "/r/.git", "/nowhere", tree)
		require.ErrorIs(t, err, ErrInside, dir)
	}
	for _, dir := range []string{elsewhere, tree + "-state", filepath.Dir(tree)} {
		_, err := Open(dir, "id", "/r/.git", tree)
		require.NoError(t, err, dir)
	}
}
