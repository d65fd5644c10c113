package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPublish(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	canary := filepath.Join(t.TempDir(), "ran")
	for _, hook := range []string{"reference-transaction", "post-update", "pre-push", "post-receive", "update"} {
		script := "#!/bin/sh\ntouch " + canary + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(b.dir, ".git", "hooks", hook), []byte(script), 0o755))
	}
	b.git("config", "core.logAllRefUpdates", "always")
	b.write("a.txt", "the user goes on working\n")
	one := b.change(b.base, map[string]string{"dir/b.txt": "1\n"})
	two := b.change(one, map[string]string{"dir/b.txt": "2\n"})
	before := snapshot(t, b.dir)
	const ref = "refs/heads/divisi/r1"
	require.NoError(t, b.g.Publish(t.Context(), b.c, b.m, ref, two, b.base, ""))
	changed := slices.DeleteFunc(difference(before, snapshot(t, b.dir)), func(p string) bool {
		return strings.HasPrefix(p, ".git/objects/pack/pack-")
	})
	require.ElementsMatch(t, []string{".git/refs/heads/divisi", ".git/refs/heads/divisi/r1"}, changed)
	require.NoFileExists(t, canary)
	require.Equal(t, "2", b.git("show", "divisi/r1:dir/b.txt"))
	require.Equal(t, "3", b.git("rev-list", "--count", "divisi/r1"))
	b.git("fsck", "--strict", "--no-dangling")

	again := snapshot(t, b.dir)
	require.NoError(t, b.g.Publish(t.Context(), b.c, b.m, ref, two, b.base, ""), "the same again")
	require.ErrorIs(t, b.g.Publish(t.Context(), b.c, b.m, ref, one, b.base, ""), ErrStale)
	require.Empty(t, difference(again, snapshot(t, b.dir)))
	require.NoError(t, b.g.Publish(t.Context(), b.c, b.m, "refs/heads/divisi/moves", one, b.base, ""))
	require.NoError(t, b.g.Publish(t.Context(), b.c, b.m, "refs/heads/divisi/moves", two, b.base, one))
	require.Equal(t, two, b.git("rev-parse", "divisi/moves"))
	require.ErrorIs(t, b.g.Publish(t.Context(), b.c, b.m, "refs/heads/divisi/moves", one, b.base, b.base), ErrStale)
	b.git("pack-refs", "--all")
	require.ErrorIs(t, b.g.Publish(t.Context(), b.c, b.m, ref, one, b.base, ""), ErrStale)
	require.NoError(t, b.g.Publish(t.Context(), b.c, b.m, "refs/heads/divisi/r2", two, b.base, ""), "objects are there already")
	require.NoError(t, b.g.Publish(t.Context(), b.c, b.m, "refs/heads/divisi/r3", b.base, b.base, ""), "nothing landed")
	require.Equal(t, b.base, b.git("rev-parse", "divisi/r3"))
}

func TestPublishFromLinkedWorkTree(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	linked := filepath.Join(t.TempDir(), "linked")
	u.git("worktree", "add", "-q", "-b", "side", linked)
	b := (&user{t: t, dir: linked}).mirrored()
	next := b.change(b.base, map[string]string{"a.txt": "1\n"})
	require.NoError(t, b.g.Publish(t.Context(), b.c, b.m, "refs/heads/divisi/r", next, b.base, ""))
	require.Equal(t, next, u.git("rev-parse", "divisi/r"))
	require.NoDirExists(t, filepath.Join(b.c.GitDir, "refs", "heads"))
}

func TestPublishRefuses(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	next := b.change(b.base, map[string]string{"a.txt": "1\n"})
	before := snapshot(t, b.dir)
	for _, ref := range []string{"HEAD", "refs/tags/v1", "refs/heads/../x", "main", "refs/heads/"} {
		require.ErrorIs(t, b.g.Publish(t.Context(), b.c, b.m, ref, next, b.base, ""), ErrBadName, ref)
	}
	require.ErrorIs(t, b.g.Publish(t.Context(), b.c, b.m, "refs/heads/main", next, b.base, ""), ErrStale)
	other := newUser(t)
	other.commit("unrelated")
	c, err := b.g.Inspect(t.Context(), other.dir)
	require.NoError(t, err)
	require.ErrorIs(t, b.g.Publish(t.Context(), c, b.m, "refs/heads/divisi/r", next, b.base, ""), ErrNotFound)
	require.Empty(t, difference(before, snapshot(t, b.dir)))
	b.git("branch", "divisi")
	err = b.g.Publish(t.Context(), b.c, b.m, "refs/heads/divisi/r", next, b.base, "")
	require.ErrorContains(t, err, "refs/heads/divisi")
	require.NotErrorIs(t, err, ErrStale)
}
