package git

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClone(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"SHA-1": nil, "SHA-256": {"--object-format=sha256"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newCommitted(t, args...)
			u.write(".gitattributes", "*.txt text eol=crlf filter=evil\n")
			u.git("config", "filter.evil.smudge", "echo evil")
			u.git("config", "core.hooksPath", "hooks")
			u.commit("second")
			b := u.mirrored()
			next := b.change(b.base, map[string]string{"a.txt": "one\r\nTWO\nthree\n", "new/n.txt": "new\n"})
			dir := filepath.Join(t.TempDir(), "with space")
			require.NoError(t, os.Mkdir(dir, 0o755))
			c, err := b.m.Clone(t.Context(), dir, "task", b.base)
			require.NoError(t, err)
			pack, err := b.m.Pack(t.Context(), next, b.base)
			require.NoError(t, err)
			require.NoError(t, c.Import(t.Context(), pack))
			require.NoError(t, c.Lay(t.Context(), next, b.base))

			git := func(args ...string) string { return userGit(t, dir, args...) }
			data, err := os.ReadFile(filepath.Join(dir, "a.txt"))
			require.NoError(t, err)
			require.Equal(t, "one\r\nTWO\r\nthree\r\n", string(data), "as a checkout writes it")
			require.Equal(t, b.base, git("rev-parse", "HEAD"))
			require.Equal(t, "task", git("branch", "--show-current"))
			require.Equal(t, "a.txt\nnew/n.txt", git("diff", "--name-only"), "git diff shows what was changed and added")
			require.Empty(t, git("diff", "--cached", "--name-only", "--diff-filter=MD"))
			require.Empty(t, git("remote"))
			require.NoDirExists(t, filepath.Join(dir, ".git", "hooks"))
			require.NotContains(t, git("config", "--local", "--list"), "evil")
			require.NoFileExists(t, filepath.Join(dir, ".git", "objects", "info", "alternates"))
			require.NoError(t, os.RemoveAll(b.m.Dir()))
			git("commit", "-q", "-a", "-m", "mine")
			git("fsck", "--strict")
			require.Equal(t, "2", git("rev-list", "--count", "HEAD"), "without the history before the run")
		})
	}
}

func TestUnfinished(t *testing.T) {
	t.Parallel()
	begin := map[string]func(u *user){
		"": func(u *user) { u.write("b.log", "x"); u.git("add", "-f", "b.log") },
		"merge": func(u *user) {
			u.git("merge", "-q", "--no-commit", "--no-ff", "clean")
		},
		"rebase":      func(u *user) { fails(u, "rebase", "-q", "side") },
		"cherry-pick": func(u *user) { fails(u, "cherry-pick", "side") },
		"revert":      func(u *user) { u.git("revert", "--no-commit", "HEAD") },
		"bisect":      func(u *user) { u.git("bisect", "start") },
	}
	for want, begin := range begin {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			u := newCommitted(t)
			u.git("branch", "clean")
			u.git("checkout", "-q", "-b", "side")
			u.write("a.txt", "side\n")
			u.commit("side")
			u.git("checkout", "-q", "clean")
			u.write("c.txt", "c\n")
			u.commit("clean")
			u.git("checkout", "-q", "main")
			u.write("a.txt", "main\n")
			u.commit("main")
			begin(u)
			what, err := newGit(t).Unfinished(t.Context(), filepath.Join(u.dir, ".git"))
			require.NoError(t, err)
			require.Equal(t, want, what)
		})
	}
	t.Run("a conflict without a merge", func(t *testing.T) {
		t.Parallel()
		u := newCommitted(t)
		u.write("a.txt", "stashed\n")
		u.git("stash", "-q")
		u.write("a.txt", "other\n")
		u.commit("other")
		fails(u, "stash", "pop")
		what, err := newGit(t).Unfinished(t.Context(), filepath.Join(u.dir, ".git"))
		require.NoError(t, err)
		require.Equal(t, "merge", what)
	})
}

// fails runs a git that stops at a conflict.
func fails(u *user, args ...string) {
	u.t.Helper()
	require.Error(u.t, userCommand(u.t, u.dir, args...).Run())
}

func TestInside(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	near := filepath.Dir(u.dir)
	u.git("worktree", "add", "-q", filepath.Join(near, "linked"))
	require.NoError(t, os.Symlink(u.dir, filepath.Join(near, "link")))
	for path, want := range map[string]bool{
		u.dir: true, u.dir + "/dir/new/er": true, u.dir + "/.git/x": true, near + "/linked/x": true, near + "/link/x/y": true,
		near: false, near + "/user repo 2": false, near + "/new/dir": false, "/": false,
	} {
		require.Equal(t, want, Inside(path, u.dir), path)
	}
	require.False(t, Inside(near, filepath.Join(near, "gone")), "there is no repository")
}
