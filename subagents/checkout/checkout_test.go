package checkout

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/git"
)

// user is a repository as a person has it.
type user struct {
	t   *testing.T
	dir string
}

func newUser(t *testing.T) *user {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	u := &user{t, dir}
	u.git("init", "-q", "-b", "main")
	return u
}

func (u *user) git(args ...string) string {
	u.t.Helper()
	cmd := exec.CommandContext(u.t.Context(), "git", append([]string{"-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = u.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
	}
	out, err := cmd.CombinedOutput()
	require.NoError(u.t, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

func (u *user) write(name, content string) {
	u.t.Helper()
	file := filepath.Join(u.dir, name)
	require.NoError(u.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(u.t, os.WriteFile(file, []byte(content), 0o644))
}

func (u *user) commit() string {
	u.t.Helper()
	u.git("add", "-A")
	u.git("commit", "-q", "--allow-empty", "-m", "a commit")
	return u.git("rev-parse", "HEAD")
}

// withSubmodules has a submodule at vendor/lib, and another in that at deep.
func withSubmodules(t *testing.T) (u, lib *user) {
	t.Helper()
	deep, lib, u := newUser(t), newUser(t), newUser(t)
	deep.write("deep.txt", "deep\n")
	deep.commit()
	lib.write("l.txt", "one\n")
	lib.git("submodule", "add", "-q", deep.dir, "deep")
	lib.commit()
	u.write("a.txt", "a\n")
	u.git("submodule", "add", "-q", lib.dir, "vendor/lib")
	u.git("submodule", "update", "-q", "--init", "--recursive")
	u.commit()
	return u, lib
}

// rig takes what a checkout has, again and again, into one store.
type rig struct {
	t     *testing.T
	git   *git.Git
	dir   string
	clock time.Time
}

func newRig(t *testing.T) *rig {
	t.Helper()
	g, err := git.New(t.Context())
	require.NoError(t, err)
	return &rig{t: t, git: g, dir: t.TempDir(), clock: time.Now()}
}

func (r *rig) take(u *user) (*Content, *git.Repo) {
	r.t.Helper()
	c, err := r.git.Inspect(r.t.Context(), u.dir)
	require.NoError(r.t, err)
	mirror, err := r.git.CreateMirror(r.t.Context(), filepath.Join(r.t.TempDir(), "m.git"), c, c.Head)
	require.NoError(r.t, err)
	store := NewStore(r.git, r.dir, os.RemoveAll, func() time.Time { return r.clock })
	content, err := store.Take(r.t.Context(), User{r.git, c}, mirror, c.Head)
	require.NoError(r.t, err)
	return content, mirror
}

func (r *rig) layers(c *Content, mirror *git.Repo, commit string) map[string]string {
	r.t.Helper()
	layers, err := c.Layers(r.t.Context(), mirror, commit)
	require.NoError(r.t, err)
	lowers := map[string]string{}
	for _, l := range layers {
		require.True(r.t, l.ReadOnly)
		lowers[l.Path] = l.Lower
	}
	return lowers
}

func TestRepositoryWithoutEither(t *testing.T) {
	t.Parallel()
	u, r := newUser(t), newRig(t)
	u.write("a.txt", "a")
	u.commit()
	c, mirror := r.take(u)
	require.True(t, c.Empty())
	require.Empty(t, c.Digest())
	require.Empty(t, c.Missing())
	require.Empty(t, r.layers(c, mirror, mirror.Base()))
	require.NoDirExists(t, filepath.Join(r.dir, "checkout"))
	var none *Content
	require.True(t, none.Empty())
	require.Empty(t, none.Missing())
}

func TestSubmodules(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	u, _ := withSubmodules(t)
	c, mirror := r.take(u)
	require.Empty(t, c.Missing())
	layers := r.layers(c, mirror, mirror.Base())
	require.Len(t, layers, 2)
	require.FileExists(t, filepath.Join(layers["vendor/lib"], "l.txt"))
	require.FileExists(t, filepath.Join(layers["vendor/lib/deep"], "deep.txt"))
	require.FileExists(t, filepath.Join(layers["vendor/lib"], ".git", "HEAD"))

	// What an earlier version took has no git directory, and is taken again.
	require.NoError(t, os.RemoveAll(filepath.Join(layers["vendor/lib"], ".git")))
	c, mirror = r.take(u)
	require.FileExists(t, filepath.Join(r.layers(c, mirror, mirror.Base())["vendor/lib"], ".git", "HEAD"))

	// What was taken once is not taken again, also when the checkout has it no more.
	before, err := os.Stat(layers["vendor/lib"])
	require.NoError(t, err)
	u.git("submodule", "deinit", "-q", "-f", "--all")
	require.NoError(t, os.RemoveAll(filepath.Join(u.dir, ".git", "modules")))
	again, mirror := r.take(u)
	require.Empty(t, again.Missing())
	require.Equal(t, c.Digest(), again.Digest())
	after, err := os.Stat(r.layers(again, mirror, mirror.Base())["vendor/lib"])
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after))

	// After a month without use it is gone.
	r.clock = r.clock.Add(unused + time.Hour)
	gone, mirror := r.take(u)
	require.Empty(t, r.layers(gone, mirror, mirror.Base()))
	require.NotEqual(t, c.Digest(), gone.Digest())
	require.Equal(t, []string{
		"1 submodule not checked out at the commit that is recorded: vendor/lib. Trees have an empty directory there. " +
			"To fill it: git submodule update --init vendor/lib",
	}, gone.Missing())
}

func TestMissingSubmodules(t *testing.T) {
	t.Parallel()
	u, lib := withSubmodules(t)
	u.git("config", "-f", ".gitmodules", "submodule.x.path", "x y")
	u.git("config", "-f", ".gitmodules", "submodule.a.path", "a first")
	u.git("add", ".gitmodules")
	u.git("update-index", "--add", "--cacheinfo", "160000,"+lib.git("rev-parse", "HEAD~0")+",a first")
	u.git("update-index", "--add", "--cacheinfo", "160000,"+lib.git("rev-parse", "HEAD~0")+",x y")
	u.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("ab", 20)+",unnamed")
	u.git("commit", "-q", "-m", "more")
	require.NoError(t, os.RemoveAll(filepath.Join(u.dir, "vendor/lib")))
	require.NoError(t, os.RemoveAll(filepath.Join(u.dir, ".git/modules/vendor/lib/modules")))
	r := newRig(t)
	c, mirror := r.take(u)
	require.Len(t, c.Missing(), 1)
	require.Contains(t, c.Missing()[0], "3 submodules not checked out at the commit that is recorded: a first/deep, vendor/lib/deep, x y/deep. Trees")
	require.Contains(t, c.Missing()[0], "git submodule update --init --recursive 'a first' vendor/lib 'x y'")
	require.Contains(t, r.layers(c, mirror, mirror.Base()), "vendor/lib")
}

// A commit that is recorded and that the submodule's repository lacks is missing, and what was begun goes away.
func TestSubmoduleWithoutTheCommit(t *testing.T) {
	t.Parallel()
	u, lib := withSubmodules(t)
	lib.write("l.txt", "two\n")
	next := lib.commit()
	u.git("update-index", "--cacheinfo", "160000,"+next+",vendor/lib")
	u.git("commit", "-q", "-m", "moves it")
	r := newRig(t)
	require.NoError(t, os.MkdirAll(filepath.Join(r.dir, "checkout", "modules", strings.Repeat("a", 40)+partial), 0o755)) // of a killed run
	c, mirror := r.take(u)
	require.Len(t, c.Missing(), 1)
	require.Empty(t, r.layers(c, mirror, mirror.Base()))
	entries, err := os.ReadDir(filepath.Join(r.dir, "checkout", "modules"))
	require.NoError(t, err)
	require.Empty(t, entries)
}

func pointer(content string) (text, oid string) {
	sum := sha256.Sum256([]byte(content))
	oid = hex.EncodeToString(sum[:])
	return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", oid, len(content)), oid
}

func TestLFS(t *testing.T) {
	t.Parallel()
	u, r := newUser(t), newRig(t)
	one, oneID := pointer("content one")
	two, _ := pointer("content two")
	bad, badID := pointer("damaged one")
	for name, content := range map[string]string{
		".gitattributes": "*.dat filter=lfs\n", "one.dat": one, "sub/one.dat": one, "two.dat": two, "bad.dat": bad, "other.txt": one,
	} {
		u.write(name, content)
	}
	u.commit()
	store := func(id, content string) { u.write(filepath.Join(".git/lfs/objects", id[:2], id[2:4], id), content) }
	store(oneID, "content one")
	store(badID, "damaged TWO")
	c, mirror := r.take(u)
	layers := r.layers(c, mirror, mirror.Base())
	require.Len(t, layers, 2)
	content, err := os.ReadFile(layers["one.dat"])
	require.NoError(t, err)
	require.Equal(t, "content one", string(content))
	require.Equal(t, layers["one.dat"], layers["sub/one.dat"])
	require.Equal(t, []string{
		"2 files of Git LFS without content in the checkout: bad.dat, two.dat. Trees have the pointer there. " +
			"To have the content: git lfs pull",
	}, c.Missing())

	// A tree in which the file is another one shows that one.
	u.write("one.dat", "no pointer")
	require.NoError(t, os.Remove(filepath.Join(u.dir, "sub/one.dat")))
	next := u.commit()
	checkout, err := r.git.Inspect(t.Context(), u.dir)
	require.NoError(t, err)
	later, err := r.git.CreateMirror(t.Context(), filepath.Join(t.TempDir(), "n.git"), checkout, next)
	require.NoError(t, err)
	require.Empty(t, r.layers(c, later, next))
}
