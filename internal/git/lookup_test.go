package git

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestLookup compares with git's own listing, for files, directories, what lies below a file, and what is not there.
func TestLookup(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	next := b.change(b.base, map[string]string{
		"new\tü\n.txt": "x\n", ModeExec + ":dir/run": "r\n", ModeGitlink + ":sub": strings.Repeat("6", 40),
		"-dash/" + strings.Repeat("n", 200): "y\n",
	})
	files, err := b.m.Files(t.Context(), next)
	require.NoError(t, err)
	want := map[string]Entry{}
	paths := []string{"dir", "dir/sub", "a.txt/below", "nothing", "dir/nothing", "sub/below"}
	for _, f := range files {
		want[f.Path] = Entry{Path: f.Path, Mode: f.Mode, OID: f.OID}
		paths = append(paths, f.Path)
	}
	rapid.Check(t, func(rt *rapid.T) {
		asked := rapid.SliceOf(rapid.SampledFrom(paths)).Draw(rt, "paths")
		found, err := b.m.Lookup(t.Context(), next, asked)
		require.NoError(rt, err)
		require.Len(rt, found, len(asked))
		for i, e := range found {
			is := want[asked[i]]
			is.Path = asked[i]
			require.Equal(rt, is, e)
		}
	})
	_, err = b.m.Lookup(t.Context(), strings.Repeat("7", 40), []string{"a.txt"})
	require.ErrorIs(t, err, ErrNotFound)
	_, err = b.m.Lookup(t.Context(), "--all", nil)
	require.ErrorIs(t, err, ErrBadName)
}
