package git

import (
	"path/filepath"
	"slices"
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

// A history begins where it was begun, each time that it was, and in a shallow clone where it was cut.
func TestRootsOfAHistory(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	g := newGit(t)
	roots := func(dir, commit string) []string {
		found, err := g.Roots(t.Context(), inspect(t, dir), commit)
		require.NoError(t, err)
		return found
	}
	first := u.git("rev-parse", "HEAD")
	u.git("commit", "-q", "--allow-empty", "-m", "more")
	require.Equal(t, []string{first}, roots(u.dir, u.git("rev-parse", "HEAD")))
	u.git("checkout", "-q", "--orphan", "other")
	u.git("commit", "-q", "--allow-empty", "-m", "another beginning")
	second := u.git("rev-parse", "HEAD")
	u.git("merge", "-q", "--allow-unrelated-histories", "-m", "both", "main")
	both := []string{first, second}
	slices.Sort(both)
	head := u.git("rev-parse", "HEAD")
	require.Equal(t, both, roots(u.dir, head))
	shallow := filepath.Join(t.TempDir(), "shallow")
	userGit(t, u.dir, "clone", "-q", "--depth=1", "file://"+u.dir, shallow)
	require.Equal(t, []string{head}, roots(shallow, head))
	_, err := g.Roots(t.Context(), inspect(t, u.dir), "--all")
	require.ErrorIs(t, err, ErrBadName)
}
