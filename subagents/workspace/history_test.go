package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/textfile"
	"divisi/subagents/workspace"
)

func TestMatchesAreFoundInTheTextOfFiles(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.txt": "a\n"})
	s, err := b.pool.Acquire(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { b.pool.Release(s) })
	p, err := textfile.Compile(`(?m)^old$`)
	require.NoError(t, err)
	_, err = s.Match(p, nil)
	require.ErrorIs(t, err, workspace.ErrNotReset)
	require.NoError(t, s.Reset(t.Context(), b.base))
	for name, text := range map[string]string{
		"lf": "x\nold\n", "crlf": "old\r\nold\r\n", "mark": "\ufeffold\n", "wide": "\xff\xfeo\x00l\x00d\x00\r\x00\n\x00", "none": "older\n",
		"many": strings.Repeat("old\r\n", 9),
	} {
		write(t, filepath.Join(s.Dir(), name), text)
	}
	require.NoError(t, os.Symlink("lf", filepath.Join(s.Dir(), "link")))
	places, err := s.Match(p, []string{"lf", "crlf", "mark", "wide", "none", "link", "gone", "many"})
	require.NoError(t, err)
	require.Equal(t, []string{
		"lf:2", "crlf:1", "crlf:2", "mark:1", "wide:1", "many:1", "many:2", "many:3", "many:4", "many:5",
	}, places)
}

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
