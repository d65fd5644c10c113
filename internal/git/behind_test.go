package git

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBehind(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	behind := func() Behind {
		t.Helper()
		got, err := b.g.Behind(t.Context(), inspect(t, b.dir), b.base)
		require.NoError(t, err)
		return got
	}
	require.Equal(t, Behind{}, behind(), "no remote")

	one := b.git("commit-tree", "-p", b.base, "-m", "one", b.base+"^{tree}")
	two := b.git("commit-tree", "-p", one, "-m", "two", b.base+"^{tree}")
	b.git("update-ref", "refs/remotes/origin/main", two)
	b.git("checkout", "-q", "-b", "feature")
	require.Equal(t, Behind{Ref: "origin/main", Commits: 2}, behind(), "the main branch")

	b.git("update-ref", "refs/remotes/origin/feature", one)
	require.Equal(t, Behind{Ref: "origin/feature", Commits: 1}, behind(), "the branch of the same name")

	b.git("update-ref", "refs/remotes/fork/topic", b.base)
	b.git("config", "branch.feature.remote", "fork")
	b.git("config", "branch.feature.merge", "refs/heads/topic")
	at := time.Date(2026, 11, 2, 3, 4, 5, 0, time.UTC)
	fetched := filepath.Join(b.dir, ".git", "FETCH_HEAD")
	require.NoError(t, os.WriteFile(fetched, nil, 0o644))
	require.NoError(t, os.Chtimes(fetched, at, at))
	got := behind()
	require.Equal(t, "fork/topic", got.Ref, "the branch that it follows")
	require.Zero(t, got.Commits)
	require.True(t, got.Fetched.Equal(at))

	b.git("update-ref", "refs/remotes/fork/topic", two)
	require.Equal(t, 2, behind().Commits)
}
