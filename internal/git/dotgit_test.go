package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// laid is a work tree of a commit, with the git directory of commands in it.
type laid struct {
	t     testing.TB
	tree  string
	files DotGit
}

func (b *bundle) laid(commit string) *laid {
	b.t.Helper()
	dir := b.t.TempDir()
	l := &laid{t: b.t, tree: filepath.Join(dir, "tree")}
	l.files = DotGit{
		Refs: Refs{Branch: "main", Remote: "origin", Default: "main"}, Base: b.base, Objects: []string{b.m.Objects()},
		Shallow: []string{b.base}, From: filepath.Join(dir, "own.git"),
	}
	require.NoError(b.t, os.Mkdir(l.tree, 0o755))
	_, err := b.g.Borrow(l.files.From, b.m)
	require.NoError(b.t, err)
	_, err = b.g.Run(b.t.Context(), Dir{GitDir: l.files.From, WorkTree: l.tree}, nil, "read-tree", "-u", "--reset", commit)
	require.NoError(b.t, err)
	l.files.Head, err = b.m.Tested(b.t.Context(), commit, time.Time{})
	require.NoError(b.t, err)
	l.write()
	return l
}

func (l *laid) write() {
	l.t.Helper()
	require.NoError(l.t, os.RemoveAll(l.dir()))
	require.NoError(l.t, os.Mkdir(l.dir(), 0o755))
	require.NoError(l.t, l.files.Write(l.dir()))
}

func (l *laid) dir() string { return filepath.Join(l.tree, ".git") }

func (l *laid) git(args ...string) string {
	l.t.Helper()
	return userGit(l.t, l.tree, args...)
}

func TestDotGitIsACheckoutOfCI(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--object-format=sha256"}} {
		u := newCommitted(t, args...)
		u.write("name with\nline \"break\" ü", "odd\n")
		u.commit("odd")
		b := u.mirrored()
		head := b.change(b.base, map[string]string{"a.txt": "changed\n", "new.txt": "new\n"})
		l := b.laid(head)
		require.Empty(t, l.git("status", "--porcelain", "--ignored"))
		require.Equal(t, "main", l.git("branch", "--show-current"))
		require.Equal(t, "M\ta.txt\nA\tnew.txt", l.git("diff", "--name-status", "origin/main...HEAD"))
		require.Equal(t, b.base, l.git("rev-parse", "origin/HEAD"))
		require.Equal(t, "refs/remotes/origin/main", l.git("symbolic-ref", "refs/remotes/origin/HEAD"), "scripts ask so for the main branch")
		require.Equal(t, b.base, l.git("merge-base", "origin/HEAD", "HEAD"))
		require.Equal(t, "origin", l.git("remote"))
		for _, name := range []string{"hooks", "info", "logs/HEAD", "refs/tags", "refs/heads/main"} {
			_, err := os.Stat(filepath.Join(l.dir(), name))
			require.NoError(t, err, "what is in each checkout")
		}
		require.Equal(t, l.files.Head, l.git("rev-parse", "HEAD@{0}"))
		require.Empty(t, l.git("fsck", "--strict", "--no-dangling"))
		require.Equal(t, l.git("log", "-1", "--format=%cI", b.base), l.git("log", "-1", "--format=%cI"))
		require.Equal(t, l.tree, l.git("rev-parse", "--show-toplevel"))
		shared, err := filepath.Glob(filepath.Join(l.files.From, SharedIndex+"*"))
		require.NoError(t, err)
		require.NotEmpty(t, shared)
		require.NoFileExists(t, filepath.Join(l.dir(), filepath.Base(shared[0])), "libgit2 and others refuse a shared index")

		// It is one to write, too.
		l.git("mv", "dir", "other")
		require.Equal(t, "R  dir/b.txt -> other/b.txt\nR  dir/sub/c.txt -> other/sub/c.txt", l.git("status", "--porcelain"))
		l.git("stash")
		l.git("stash", "pop", "--index")
		l.git("commit", "-q", "-m", "moved")
		u.write("a.txt", "one\ntwo\n3\n")
		patch := filepath.Join(t.TempDir(), "p")
		require.NoError(t, os.WriteFile(patch, []byte(u.git("diff", "a.txt")+"\n"), 0o600))
		l.git("checkout", "-q", "origin/main")
		l.git("apply", "--3way", patch)
		l.git("commit", "-q", "-a", "-m", "applied")
		l.git("gc", "-q")
		require.Empty(t, l.git("fsck", "--strict", "--no-dangling"))
	}
}

// The first git status reads no file that is older than the index. To prove it, files are changed as no one sees by size and
// time.
func TestDotGitHashesNothing(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	n := 2000
	for i := range n {
		u.write(fmt.Sprintf("d%d/f%d", i/100, i), fmt.Sprint(i))
	}
	u.commit("many")
	b := u.mirrored()
	l := b.laid(b.base)
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	each := func(visit func(name string)) {
		require.NoError(t, filepath.WalkDir(l.tree, func(name string, d fs.DirEntry, err error) error {
			if err == nil && name == l.dir() {
				return fs.SkipDir
			}
			if err == nil && !d.IsDir() {
				visit(name)
			}
			return err
		}))
	}
	each(func(name string) { require.NoError(t, os.Chtimes(name, old, old)) })
	_, err := b.g.Run(t.Context(), Dir{GitDir: l.files.From, WorkTree: l.tree}, nil, "update-index", "-q", "--refresh")
	require.NoError(t, err)
	l.write()
	each(func(name string) {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		data[0] = 'x'
		require.NoError(t, os.WriteFile(name, data, 0o644))
		require.NoError(t, os.Chtimes(name, old, old))
	})
	require.Empty(t, l.git("status", "--porcelain"))
	each(func(name string) { require.NoError(t, os.Chtimes(name, time.Now(), time.Now())) })
	require.Len(t, strings.Split(l.git("status", "--porcelain"), "\n"), n, "they are seen once their time is another one")
}

// A change within the second in which the tree was made is seen, although size and second are the same.
func TestDotGitSeesAChangeOfTheSameSecond(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	l := b.laid(b.base)
	name := filepath.Join(l.tree, "a.txt")
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.NoError(t, os.Chtimes(filepath.Join(l.dir(), "index"), info.ModTime(), info.ModTime()))
	require.NoError(t, os.WriteFile(name, []byte("ONE\ntwo\nthree\n"), 0o644))
	require.NoError(t, os.Chtimes(name, info.ModTime(), info.ModTime()))
	require.Equal(t, "M a.txt", l.git("status", "--porcelain"))
}

func TestDotGitIsSmall(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	l := b.laid(b.change(b.base, map[string]string{"a.txt": "changed\n"}))
	size := int64(0)
	require.NoError(t, filepath.WalkDir(l.dir(), func(_ string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		if err == nil {
			size += max(info.Size(), 512)
		}
		return err
	}))
	require.Less(t, size, int64(64<<10))
}

func TestRefsOfATree(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	refs, err := b.m.Refs()
	require.NoError(t, err)
	require.Equal(t, usualRefs, refs)
	for _, bad := range []Refs{
		{Branch: "", Remote: "origin", Default: "main"},
		{Branch: "a\n0000 refs/heads/b", Remote: "origin", Default: "main"},
		{Branch: "main", Remote: "../../x", Default: "main"},
		{Branch: "main", Remote: "origin", Default: "HEAD"},
		{Branch: "main", Remote: "origin", Default: "main", Main: "x\n"},
		{Branch: "main", Remote: "origin", Default: "a.lock"},
		{Branch: "main", Remote: "origin", Default: "main", Init: "a..b"},
	} {
		require.ErrorIs(t, b.m.KeepRefs(bad), ErrBadName, "%q", bad)
	}
	want := Refs{Branch: "fix/a-b", Remote: "up/stream", Default: "release/1.x", Init: "trunk"}
	require.NoError(t, b.m.KeepRefs(want))
	again, err := b.g.OpenMirror(b.m.Dir())
	require.NoError(t, err)
	refs, err = again.Refs()
	require.NoError(t, err)
	require.Equal(t, want, refs)
	l := b.laid(b.base)
	l.files.Refs = refs
	l.write()
	require.Equal(t, "fix/a-b", l.git("branch", "--show-current"))
	require.Equal(t, b.base, l.git("rev-parse", "refs/remotes/up/stream/release/1.x"))
	require.Equal(t, "up/stream/release/1.x", l.git("rev-parse", "--abbrev-ref", "up/stream/HEAD"))
	l.files.Branch = "../x"
	require.ErrorIs(t, l.files.Write(t.TempDir()), ErrBadName)
}

// The main branch of the remote stands where the user's clone parted from it, the upstream of the branch too. Each clone elsewhere
// has a remote origin, so that one is chosen.
func TestRefsStandWhereTheUsersBranchPartedFromThem(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	main := u.git("rev-parse", "main")
	u.git("config", "branch.fix/\"a\".remote", "fork")
	u.git("config", "remote.fork.fetch", "+refs/heads/*:refs/remotes/fork/*")
	u.git("checkout", "-q", "-b", `fix/"a"`)
	u.write("a.txt", "mine\n")
	pushed := u.commit("mine")
	refs := func() Refs {
		b := u.mirrored()
		refs, err := b.g.RefsOf(t.Context(), b.c, b.base)
		require.NoError(t, err)
		return refs
	}
	u.git("update-ref", "refs/remotes/fork/main", main)
	u.git("update-ref", `refs/remotes/fork/fix/"a"`, pushed)
	require.Equal(t, Refs{Branch: `fix/"a"`, Remote: "fork", Default: "main", Main: main, Upstream: pushed}, refs())
	u.write("a.txt", "more\n")
	base := u.commit("more")
	u.git("checkout", "-q", "main")
	u.write("b.txt", "theirs\n")
	theirs := u.commit("theirs")
	u.git("update-ref", "refs/remotes/origin/main", theirs)
	u.git("update-ref", `refs/remotes/origin/fix/"a"`, pushed)
	u.git("checkout", "-q", `fix/"a"`)
	is := refs()
	require.Equal(t, Refs{Branch: `fix/"a"`, Remote: "origin", Default: "main", Main: main, Upstream: pushed}, is)

	b := u.mirrored()
	l := b.laid(b.base)
	past, err := b.g.TakePast(t.Context(), b.c, b.base, t.TempDir(), true)
	require.NoError(t, err)
	l.files.Refs, l.files.Shallow, l.files.Objects = is, nil, []string{b.m.Objects(), past.Whole}
	l.write()
	require.Equal(t, main, l.git("rev-parse", "origin/main"))
	require.Equal(t, pushed, l.git("rev-parse", "@{u}"))
	require.Equal(t, "more", l.git("log", "--format=%s", "@{u}.."))
	require.Equal(t, `## fix/"a"...origin/fix/"a" [ahead 1]`, l.git("status", "-sb"))
	require.Empty(t, l.git("fsck", "--strict", "--no-dangling"))

	u.git("update-ref", "-d", `refs/remotes/origin/fix/"a"`)
	u.git("update-ref", "refs/remotes/origin/main", base)
	require.Equal(t, Refs{Branch: `fix/"a"`, Remote: "origin", Default: "main", Main: base}, refs())
	u.git("update-ref", "refs/remotes/origin/main", u.git("commit-tree", "-m", "another history", "main^{tree}"))
	require.Equal(t, Refs{Branch: `fix/"a"`, Remote: "origin", Default: "main"}, refs(), "they have nothing in common")
}

// BenchmarkDotGit compares the git directory of a tree with git init --bare.
func BenchmarkDotGit(b *testing.B) {
	bundle := newBundle(b)
	l := bundle.laid(bundle.change(bundle.base, map[string]string{"a.txt": "changed\n"}))
	took := map[string]time.Duration{}
	timed := func(name string, do func(dir string)) {
		dir := filepath.Join(b.TempDir(), "x")
		begin := time.Now()
		do(dir)
		took[name] += time.Since(begin)
	}
	for b.Loop() {
		timed("init", func(dir string) { userGit(b, bundle.dir, "init", "-q", "--bare", dir) })
		timed("write", func(dir string) {
			require.NoError(b, os.Mkdir(dir, 0o755))
			require.NoError(b, l.files.Write(dir))
		})
	}
	b.ReportMetric(float64(took["write"].Microseconds())/float64(b.N), "write-us/op")
	b.ReportMetric(float64(took["write"])/float64(took["init"]), "of-init")
}

// Trees have the history of the base and of tags, and nothing else of the repository.
func TestPastIsWhatBaseAndTagsReach(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--object-format=sha256"}} {
		u := newCommitted(t, args...)
		u.write("secret.txt", "an old secret\n")
		old := u.commit("with a secret")
		secret := u.git("rev-parse", "HEAD:secret.txt")
		words := filepath.Join(t.TempDir(), "words")
		require.NoError(t, os.WriteFile(words, []byte(strings.Repeat("many words\n", 100_000)), 0o600))
		u.git("tag", "-a", "v1.0", "-F", words)
		u.git("rm", "-q", "secret.txt")
		u.commit("without it")
		u.git("checkout", "-q", "-b", "side", "v1.0")
		u.write("side.txt", "side\n")
		side := u.commit("side")
		u.git("tag", "light")
		odd := "odd\u3000`name`"
		u.git("tag", odd)
		u.git("tag", "-f", "blob", secret)
		u.write("other.txt", "other\n")
		other := u.commit("another branch")
		u.git("checkout", "-q", "main")
		u.write("a.txt", "stashed\n")
		u.git("stash")
		u.git("pack-refs", "--all")
		packed, err := os.OpenFile(filepath.Join(u.dir, ".git", "packed-refs"), os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = packed.WriteString(side + " refs/tags/z\xff\n") // no text: trees do without it
		require.NoError(t, errors.Join(err, packed.Close()))
		b := u.mirrored()
		dir := t.TempDir()
		past, err := b.g.TakePast(t.Context(), b.c, b.base, dir, true)
		require.NoError(t, err)
		require.NoError(t, b.m.KeepPast(past))
		kept, err := b.m.Past()
		require.NoError(t, err)
		require.Equal(t, past, kept)

		l := b.laid(b.change(b.base, map[string]string{"a.txt": "changed\n"}))
		with := func(objects string) {
			l.files.Tags, l.files.Shallow = past.Tags, past.Shallow
			l.files.Objects = []string{b.m.Objects(), objects}
			l.write()
			require.Empty(t, l.git("status", "--porcelain"))
			require.Equal(t, "v1.0-2-g"+l.files.Head[:7], l.git("describe", "--abbrev=7"))
			require.Equal(t, "light\n"+odd+"\nv1.0", l.git("tag"))
			require.Len(t, strings.Split(l.git("log", "--format=%s"), "\n"), 4)
			require.Equal(t, old, l.git("merge-base", "light", "HEAD"))
			require.Error(t, userCommand(t, l.tree, "cat-file", "-e", other).Run())
			require.Error(t, userCommand(t, l.tree, "cat-file", "-e", u.git("rev-parse", "stash@{0}")).Run())
		}
		with(past.Whole)
		require.Empty(t, l.git("fsck", "--strict", "--no-dangling"))
		require.Equal(t, "an old secret", l.git("show", "v1.0:secret.txt"))
		require.Contains(t, l.git("log", "-p", "--", "secret.txt"), "-an old secret")
		with(past.Commits)
		require.Error(t, userCommand(t, l.tree, "cat-file", "-e", secret).Run())

		// What was taken is not taken again, what is new is.
		packs := func() int {
			list, err := filepath.Glob(filepath.Join(past.Whole, "pack", "*.pack"))
			require.NoError(t, err)
			return len(list)
		}
		require.Equal(t, 1, packs())
		again, err := b.g.TakePast(t.Context(), b.c, b.base, dir, true)
		require.NoError(t, err)
		require.Equal(t, past, again)
		require.Equal(t, 1, packs())
		u.git("checkout", "-q", "-f", "side")
		c, err := b.g.Inspect(t.Context(), u.dir)
		require.NoError(t, err)
		_, err = b.g.TakePast(t.Context(), c, c.Head, dir, true)
		require.NoError(t, err)
		require.Equal(t, 2, packs())
		require.Equal(t, side, userGit(t, u.dir, "--git-dir", filepath.Dir(past.Whole), "rev-parse", other+"^"))
	}
}

// The history of a shallow clone begins where the clone does; that of a partial one has no files.
func TestPastOfAClone(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	for i := range 4 {
		u.write("a.txt", fmt.Sprint(i))
		u.commit(fmt.Sprint(i))
	}
	u.git("config", "uploadpack.allowFilter", "true")
	clone := func(flags ...string) (*bundle, Past, error) {
		c := &user{t: t, dir: filepath.Join(t.TempDir(), "clone")}
		u.git(append(append([]string{"clone", "-q"}, flags...), "file://"+u.dir, c.dir)...)
		b := c.mirrored()
		past, err := b.g.TakePast(t.Context(), b.c, b.base, t.TempDir(), true)
		return b, past, err
	}
	b, past, err := clone("--depth=2")
	require.NoError(t, err)
	l := b.laid(b.base)
	l.files.Objects, l.files.Shallow = append(l.files.Objects, past.Whole), past.Shallow
	l.write()
	require.Equal(t, "3\n2", l.git("log", "--format=%s"))
	require.Empty(t, l.git("fsck", "--strict", "--no-dangling"))

	b, past, err = clone("--filter=blob:none")
	require.ErrorIs(t, err, ErrDamaged)
	require.Empty(t, past.Whole)
	l = b.laid(b.base)
	l.files.Objects, l.files.Shallow = append(l.files.Objects, past.Commits), past.Shallow
	l.write()
	require.Len(t, strings.Split(l.git("log", "--format=%s"), "\n"), 5)
}
