package workspace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A reset writes what differs alone, and so a source is newer than what was made of it. In a clone it is not.
func TestEvenGivesAllFilesOneTime(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.src": "one\n", "a.tab": "ONE\n", ".gitignore": "*.o\n", ".gitattributes": "*.crlf eol=crlf\n", "x.crlf": "1\n"})
	s := b.slot(t)
	settled(t, s, b.base)
	write(t, filepath.Join(s.Dir(), "a.src"), "two\n")
	write(t, filepath.Join(s.Dir(), "x.crlf"), "2\r\n")
	patch, pack, err := s.Collect(t.Context(), b.base, "two", author, noon)
	require.NoError(t, err)
	require.NoError(t, b.mirror.Import(t.Context(), pack))
	head := patch.Commit
	settled(t, s, b.base)
	settled(t, s, head)
	write(t, filepath.Join(s.Dir(), "a.o"), "made")
	require.NoError(t, os.Symlink("a.src", filepath.Join(s.Dir(), "link.o")))
	made, err := os.Stat(filepath.Join(s.Dir(), "a.o"))
	require.NoError(t, err)
	require.NoError(t, s.Even(t.Context(), head))
	times := map[string]bool{}
	for _, name := range []string{"a.src", "a.tab", "x.crlf", ".gitignore"} {
		info, err := os.Stat(filepath.Join(s.Dir(), name))
		require.NoError(t, err)
		times[info.ModTime().String()] = true
		require.False(t, info.ModTime().After(made.ModTime()), "%s is older than what a gate before made", name)
	}
	require.Len(t, times, 1)
	changed, err := s.Restore(t.Context(), head)
	require.NoError(t, err)
	require.Empty(t, changed, "a time is no change")
	require.NoError(t, s.Reset(t.Context(), b.base))
	data, err := os.ReadFile(filepath.Join(s.Dir(), "x.crlf"))
	require.NoError(t, err)
	require.Equal(t, "1\r\n", string(data))
}
