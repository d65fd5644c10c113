package git

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func inspect(t *testing.T, path string) *Checkout {
	t.Helper()
	c, err := newGit(t).Inspect(t.Context(), path)
	require.NoError(t, err)
	return c
}

func TestInspect(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	c := inspect(t, filepath.Join(u.dir, "dir", "sub"))
	require.Equal(t, u.dir, c.Top)
	require.Equal(t, filepath.Join(u.dir, ".git"), c.GitDir)
	require.Equal(t, c.GitDir, c.CommonDir)
	require.Equal(t, filepath.Join(u.dir, ".git", "objects"), c.Objects)
	require.Equal(t, u.git("rev-parse", "HEAD"), c.Head)
	require.Equal(t, "main", c.Branch)
	require.False(t, c.Shallow)
	require.Empty(t, c.Dirty)
	require.Empty(t, c.Submodules)
}

func TestInspectDirty(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	u.write("a.txt", "changed\n")
	u.write("staged.txt", "s\n")
	u.git("add", "staged.txt")
	u.write("new/x.txt", "x\n")
	u.write("build.log", "ignored\n")
	u.write("scratch.tmp", "ignored by info/exclude\n")
	u.write(".git/info/exclude", "*.tmp\n")
	require.NoError(t, os.Remove(filepath.Join(u.dir, "dir", "b.txt")))
	before := snapshot(t, u.dir)
	c := inspect(t, u.dir)
	require.ElementsMatch(t, []string{"a.txt", "staged.txt", "new/", "dir/b.txt"}, c.Dirty)
	require.False(t, c.MoreDirty)
	require.Empty(t, difference(before, snapshot(t, u.dir)), "nothing of the user's is written")
}

// TestInspectSeesAnEditInTheSameSecond edits a file in the second in which the index was written, long ago: only who
// knows the index's own time sees that the file must be read again.
func TestInspectSeesAnEditInTheSameSecond(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	u.git("config", "core.trustctime", "false")
	file, index := filepath.Join(u.dir, "a.txt"), filepath.Join(u.dir, ".git", "index")
	past := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(file, past, past))
	u.git("update-index", "--refresh")
	require.NoError(t, os.Chtimes(index, past, past))
	require.Empty(t, inspect(t, u.dir).Dirty)
	u.write("a.txt", "ONE\ntwo\nthree\n")
	require.NoError(t, os.Chtimes(file, past, past))
	require.Equal(t, []string{"a.txt"}, inspect(t, u.dir).Dirty)
}

func TestInspectBoundsDirty(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	for i := range MaxDirty + 5 {
		u.write("n"+strconv.Itoa(i), "x")
	}
	c := inspect(t, u.dir)
	require.Len(t, c.Dirty, MaxDirty)
	require.True(t, c.MoreDirty)
}

func TestInspectUsesGlobalIgnoreList(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	u.write("x.swp", "x")
	home := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(home, "ignore"), []byte("*.swp\n"), 0o644))
	config := "[core]\n\texcludesFile = " + filepath.Join(home, "ignore") + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o644))
	g := newGit(t)
	c, err := g.Inspect(t.Context(), u.dir)
	require.NoError(t, err)
	require.Equal(t, []string{"x.swp"}, c.Dirty)
	g.userEnv = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1"}
	c, err = g.Inspect(t.Context(), u.dir)
	require.NoError(t, err)
	require.Empty(t, c.Dirty)
}

// A filter of the user's decides whether its file differs, and no filter runs: such a file is set apart, and what is staged or
// removed is no secret.
func TestInspectSetsFilteredFilesApart(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	for _, name := range []string{"touched", "staged", "gone"} {
		u.write(name+".x", "fgberq\n")
	}
	u.write(".gitattributes", "*.x filter=crypt\n")
	u.git("add", "-A")
	u.git("commit", "-qm", "filtered")
	u.write("touched.x", "stored\n") // as the smudge of a checkout would
	u.write("staged.x", "other\n")
	u.git("add", "staged.x")
	require.NoError(t, os.Remove(filepath.Join(u.dir, "gone.x")))
	u.write("a.txt", "changed\n")
	c := inspect(t, u.dir)
	require.Equal(t, []string{"touched.x"}, c.Filtered)
	require.ElementsMatch(t, []string{"a.txt", "staged.x", "gone.x"}, c.Dirty)
}

func TestInspectUsesSettingsThatAreIncludedForIt(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	require.NoError(t, os.Remove(filepath.Join(u.dir, "a.txt")))
	u.git("-c", "core.autocrlf=true", "checkout", "-q", "--", "a.txt")
	require.NoError(t, os.Chtimes(filepath.Join(u.dir, "a.txt"), time.Now(), time.Now().Add(-time.Hour)))
	home := t.TempDir()
	crlf := filepath.Join(home, "crlf")
	require.NoError(t, os.WriteFile(crlf, []byte("[core]\n\tautocrlf = true\n"), 0o644))
	g := newGit(t)
	g.userEnv = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1"}
	for dir, dirty := range map[string][]string{u.dir + "/": nil, home + "/": {"a.txt"}} {
		config := "[includeIf \"gitdir:" + dir + "\"]\n\tpath = " + crlf + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o644))
		c, err := g.Inspect(t.Context(), u.dir)
		require.NoError(t, err)
		require.Equal(t, dirty, c.Dirty, dir)
	}
}

func TestInspectWhereLinksAreFiles(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	require.NoError(t, os.Symlink("a.txt", filepath.Join(u.dir, "link")))
	u.git("add", "-A")
	u.git("commit", "-qm", "a link")
	require.NoError(t, os.Remove(filepath.Join(u.dir, "link")))
	u.write("link", "a.txt")
	require.Equal(t, []string{"link"}, inspect(t, u.dir).Dirty)
	u.git("config", "core.symlinks", "false")
	require.Empty(t, inspect(t, u.dir).Dirty)
}

func TestInspectLinkedWorkTree(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	linked := filepath.Join(t.TempDir(), "linked")
	u.git("worktree", "add", "-q", "-b", "side", linked)
	require.NoError(t, os.WriteFile(filepath.Join(linked, "a.txt"), []byte("side\n"), 0o644))
	c := inspect(t, linked)
	require.Equal(t, "side", c.Branch)
	require.Equal(t, filepath.Join(u.dir, ".git"), c.CommonDir)
	require.Equal(t, filepath.Join(u.dir, ".git", "worktrees", "linked"), c.GitDir)
	require.Equal(t, []string{"a.txt"}, c.Dirty)
	require.Empty(t, inspect(t, u.dir).Dirty)
	g := newGit(t)
	m, err := g.CreateMirror(t.Context(), filepath.Join(t.TempDir(), "m.git"), c, c.Head)
	require.NoError(t, err)
	files, err := m.Files(t.Context(), c.Head)
	require.NoError(t, err)
	require.Len(t, files, 4)
}

// The maker of a checkout can have its .git lead anywhere: only the git directory itself can say that they belong together.
func TestIdentityOfACheckoutThatItsRepositoryDoesNotKnow(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	common := filepath.Join(u.dir, ".git")
	linked, moved := filepath.Join(t.TempDir(), "linked"), filepath.Join(t.TempDir(), "moved")
	u.git("worktree", "add", "-q", "-b", "side", linked)
	identity := func(dir string) string {
		id, err := inspect(t, dir).Identity()
		require.NoError(t, err)
		return id
	}
	own := identity(u.dir)
	require.Equal(t, own, identity(linked))

	byFile, byDirectory, byLink, asLinked := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(byFile, ".git"), []byte("gitdir: "+common+"\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(asLinked, ".git"), []byte("gitdir: "+common+"/worktrees/linked\n"), 0o644))
	require.NoError(t, os.Symlink(common, filepath.Join(byLink, ".git")))
	require.NoError(t, os.Mkdir(filepath.Join(byDirectory, ".git"), 0o755))
	for name, text := range map[string]string{
		"HEAD": "ref: refs/heads/main\n", "commondir": common + "\n", "gitdir": filepath.Join(byDirectory, ".git") + "\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(byDirectory, ".git", name), []byte(text), 0o644))
	}
	seen := map[string]bool{own: true}
	for _, dir := range []string{byFile, byDirectory, byLink, asLinked} {
		id := identity(dir)
		require.False(t, seen[id], dir)
		seen[id] = true
	}

	u.git("worktree", "move", linked, moved)
	require.Equal(t, own, identity(moved))
	separate := newCommitted(t, "--separate-git-dir", filepath.Join(t.TempDir(), "elsewhere.git"))
	require.Equal(t, identity(separate.dir), identity(filepath.Join(separate.dir, "dir")))
}

func TestInspectDetachedShallowAndAlternates(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	u.write("a.txt", "second\n")
	second := u.commit("second")
	shallow := filepath.Join(t.TempDir(), "shallow")
	userGit(t, u.dir, "clone", "-q", "--depth=1", "file://"+u.dir, shallow)
	c := inspect(t, shallow)
	require.True(t, c.Shallow)
	require.Equal(t, second, c.Head)
	userGit(t, shallow, "checkout", "-q", "--detach")
	require.Empty(t, inspect(t, shallow).Branch)

	shared := filepath.Join(t.TempDir(), "shared")
	userGit(t, u.dir, "clone", "-q", "--shared", u.dir, shared)
	c = inspect(t, shared)
	_, err := newGit(t).CreateMirror(t.Context(), filepath.Join(t.TempDir(), "m.git"), c, c.Head)
	require.NoError(t, err)
}

func TestInspectOddIndexes(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(u *user){
		"split":  func(u *user) { u.git("update-index", "--split-index") },
		"v4":     func(u *user) { u.git("update-index", "--index-version=4") },
		"sparse": func(u *user) { u.git("sparse-checkout", "set", "--cone", "--sparse-index", "dir/sub") },
		"monitor": func(u *user) {
			u.git("-c", "core.fsmonitor=true", "update-index", "--untracked-cache")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newCommitted(t)
			u.write("other/big.txt", "x\n")
			u.commit("second")
			u.t = t
			prepare(u)
			before := snapshot(t, u.dir)
			require.Empty(t, inspect(t, u.dir).Dirty)
			u.write("dir/sub/c.txt", "changed")
			require.Equal(t, []string{"dir/sub/c.txt"}, inspect(t, u.dir).Dirty)
			require.Equal(t, []string{"dir/sub/c.txt"}, difference(before, snapshot(t, u.dir)))
		})
	}
}

func TestInspectSubmodules(t *testing.T) {
	t.Parallel()
	inner := newCommitted(t)
	u := newCommitted(t)
	u.git("submodule", "--quiet", "add", "file://"+inner.dir, "lib/inner")
	u.commit("with a submodule")
	c := inspect(t, u.dir)
	require.Equal(t, []string{"lib/inner"}, c.Submodules)
	require.Empty(t, c.Dirty)
	in := inspect(t, filepath.Join(u.dir, "lib", "inner"))
	require.Equal(t, filepath.Join(u.dir, "lib", "inner"), in.Top)
	require.Equal(t, filepath.Join(u.dir, ".git", "modules", "lib", "inner"), in.GitDir)
	require.Empty(t, in.Dirty)
}

func TestInspectSHA256(t *testing.T) {
	t.Parallel()
	b := newCommitted(t, "--object-format=sha256").mirrored()
	require.Len(t, b.base, 64)
	next := b.change(b.base, map[string]string{"a.txt": "new\n"})
	require.Len(t, next, 64)
	require.NoError(t, b.g.Publish(t.Context(), b.c, b.m, "refs/heads/divisi/r", next, b.base, ""))
	require.Equal(t, next, b.git("rev-parse", "divisi/r"))
}

func TestInspectErrors(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	_, err := g.Inspect(t.Context(), t.TempDir())
	require.ErrorIs(t, err, ErrNotRepository)
	_, err = g.Inspect(t.Context(), filepath.Join(t.TempDir(), "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = g.Inspect(t.Context(), newUser(t).dir)
	require.ErrorIs(t, err, ErrNoCommits)
	_, err = g.Inspect(t.Context(), newUser(t, "--bare").dir)
	require.ErrorIs(t, err, ErrBare)
	u := newCommitted(t)
	u.git("config", "core.bare", "true")
	_, err = g.Inspect(t.Context(), u.dir)
	require.ErrorIs(t, err, ErrBare)
	u = newCommitted(t)
	u.git("config", "extensions.refStorage", "reftable")
	_, err = g.Inspect(t.Context(), u.dir)
	require.ErrorIs(t, err, ErrUnsupported)
	file := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(file, ".git"), []byte("gitdir: /nowhere\n"), 0o644))
	_, err = g.Inspect(t.Context(), file)
	require.ErrorIs(t, err, ErrNotRepository)
}

func TestInspectRefusesOtherOwners(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	g := newGit(t)
	g.uid = 12345
	_, err := g.Inspect(t.Context(), u.dir)
	require.ErrorIs(t, err, ErrOwner)
	require.ErrorContains(t, err, "safe.directory")
	home := t.TempDir()
	config := "[safe]\n\tdirectory = " + u.dir + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o644))
	g.userEnv = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1"}
	_, err = g.Inspect(t.Context(), u.dir)
	require.NoError(t, err)
}

func TestResolve(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	first := u.git("rev-parse", "HEAD")
	u.git("tag", "-a", "v1", "-m", "one")
	second := u.commit("second")
	u.git("pack-refs", "--all")
	c := inspect(t, u.dir)
	g := newGit(t)
	for rev, want := range map[string]string{
		"HEAD": second, "main": second, "HEAD~1": first, "v1": first, first[:10]: first, second: second, "HEAD@{1}": first,
	} {
		got, err := g.Resolve(t.Context(), c, rev)
		require.NoError(t, err, rev)
		require.Equal(t, want, got, rev)
	}
	_, err := g.Resolve(t.Context(), c, "nothing")
	require.ErrorIs(t, err, ErrNotFound)
	_, err = g.Resolve(t.Context(), c, "--all")
	require.ErrorIs(t, err, ErrBadName)
}
