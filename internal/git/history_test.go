package git

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLogAndDiffOfAPath(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	one := b.change(b.base, map[string]string{"dir/b.txt": "B\n", "a.txt": "one\n"})
	two := b.change(one, map[string]string{"100644::(glob)*": "odd\n"})
	ids := func(path string, limit int) (ids []string) {
		commits, err := b.m.Log(t.Context(), b.base, two, path, limit)
		require.NoError(t, err)
		for _, c := range commits {
			ids = append(ids, c.Commit)
		}
		return ids
	}
	require.Equal(t, []string{two, one}, ids(".", 10))
	require.Equal(t, []string{two}, ids(".", 1))
	require.Equal(t, []string{one}, ids("dir", 10))
	require.Equal(t, []string{two}, ids(":(glob)*", 10), "a path is taken as it is written")
	require.Empty(t, ids("dir/sub", 10))
	_, err := b.m.Log(t.Context(), "HEAD", two, ".", 1)
	require.ErrorIs(t, err, ErrBadName)

	text, cut, err := b.m.DiffPath(t.Context(), b.base, two, "dir", 1<<20)
	require.NoError(t, err)
	require.False(t, cut)
	require.Equal(t, 1, strings.Count(text, "diff --git "))
	require.Contains(t, text, "+B\n")
	_, cut, err = b.m.DiffPath(t.Context(), b.base, two, "a.txt", 20)
	require.NoError(t, err)
	require.True(t, cut)

	whole, err := b.m.Show(t.Context(), b.base, two, false)
	require.NoError(t, err)
	require.Equal(t, 3, strings.Count(string(whole), "diff --git "))
	stat, err := b.m.Show(t.Context(), b.base, two, true)
	require.NoError(t, err)
	require.Contains(t, string(stat), "3 files changed")
	require.NotContains(t, string(stat), "diff --git")
	_, err = b.m.Show(t.Context(), "HEAD", two, true)
	require.ErrorIs(t, err, ErrBadName)
}
