package git

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// withSubmodule is a repository with a submodule at vendor/lib, which has another at deep.
func withSubmodule(t *testing.T) (outer, inner *user) {
	t.Helper()
	deep, lib, u := newUser(t), newUser(t), newCommitted(t)
	deep.write("deep.txt", "deep\n")
	deep.commit("deep")
	lib.write("l.txt", "lib\r\n")
	lib.write(".gitattributes", "*.txt text eol=crlf\n*.bin filter=evil\n")
	lib.write("x.bin", "bin")
	lib.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", "--name", "d", deep.dir, "deep")
	lib.commit("lib")
	u.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", "--name", "the lib", lib.dir, "vendor/lib")
	u.git("-c", "protocol.file.allow=always", "submodule", "update", "-q", "--init", "--recursive")
	u.commit("with a submodule")
	return u, lib
}

func TestSubmoduleIsExtracted(t *testing.T) {
	t.Parallel()
	u, lib := withSubmodule(t)
	u.git("config", "-f", ".git/modules/the lib/config", "filter.evil.smudge", "touch "+filepath.Join(u.dir, "fired"))
	before := snapshot(t, u.dir)
	g, c, dir := newGit(t), inspect(t, u.dir), t.TempDir()
	mirror, err := g.CreateMirror(t.Context(), filepath.Join(dir, "m.git"), c, c.Head)
	require.NoError(t, err)
	links, err := mirror.Links(t.Context(), c.Head)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"vendor/lib": lib.git("rev-parse", "HEAD")}, links)
	names, err := mirror.ModuleNames(t.Context(), c.Head)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"vendor/lib": "the lib"}, names)

	m, err := c.Module("vendor/lib", "")
	require.NoError(t, err)
	tree := filepath.Join(dir, "tree")
	own, err := g.CreateMirror(t.Context(), filepath.Join(dir, "l.git"), m, links["vendor/lib"])
	require.NoError(t, err)
	past, err := g.TakePast(t.Context(), m, links["vendor/lib"], filepath.Join(dir, "past"), false)
	require.NoError(t, err)
	require.NoError(t, own.Extract(t.Context(), tree, past))
	require.Equal(t, links["vendor/lib"], userGit(t, tree, "rev-parse", "HEAD"))
	require.Empty(t, userGit(t, tree, "branch", "--show-current"))
	require.Empty(t, userGit(t, tree, "status", "--porcelain"))
	require.Empty(t, userGit(t, tree, "fsck", "--connectivity-only", "--no-dangling"))
	require.Equal(t, lib.git("log", "--format=%H"), userGit(t, tree, "log", "--format=%H"))
	content, err := os.ReadFile(filepath.Join(tree, "l.txt"))
	require.NoError(t, err)
	require.Equal(t, "lib\r\n", string(content), "as a checkout writes it")
	nested, err := own.Links(t.Context(), links["vendor/lib"])
	require.NoError(t, err)
	deep, err := m.Module("deep", "d")
	require.NoError(t, err)
	inner, err := g.CreateMirror(t.Context(), filepath.Join(dir, "d.git"), deep, nested["deep"])
	require.NoError(t, err)
	require.NoError(t, inner.Extract(t.Context(), filepath.Join(dir, "deep"), Past{}))
	require.FileExists(t, filepath.Join(dir, "deep", "deep.txt"))
	require.Empty(t, difference(before, snapshot(t, u.dir)), "nothing of the user's is written, and no filter ran")

	_, err = g.CreateMirror(t.Context(), filepath.Join(dir, "none.git"), m, c.Head)
	require.ErrorIs(t, err, ErrDamaged, "a commit that the submodule does not have")

	require.NoError(t, os.RemoveAll(filepath.Join(u.dir, "vendor", "lib")))
	m, err = c.Module("vendor/lib", "the lib")
	require.NoError(t, err, "its objects are still there")
	require.Equal(t, filepath.Join(u.dir, ".git", "modules", "the lib"), m.GitDir)
	_, err = c.Module("vendor/lib", "")
	require.ErrorIs(t, err, ErrNoModule)
}

// A checkout that comes from elsewhere can name any repository of the person's as its submodule, by a file, a link or a name.
func TestSubmodulesElsewhereAreNotRead(t *testing.T) {
	t.Parallel()
	private, u := newCommitted(t), newCommitted(t)
	gitDir := filepath.Join(private.dir, ".git")
	c := inspect(t, u.dir)
	u.write("file/.git", "gitdir: "+gitDir+"\n")
	require.NoError(t, os.Mkdir(filepath.Join(u.dir, "link"), 0o755))
	require.NoError(t, os.Symlink(gitDir, filepath.Join(u.dir, "link", ".git")))
	require.NoError(t, os.Symlink(private.dir, filepath.Join(u.dir, "place")))
	require.NoError(t, os.MkdirAll(filepath.Join(u.dir, ".git", "modules"), 0o755))
	require.NoError(t, os.Symlink(gitDir, filepath.Join(u.dir, ".git", "modules", "linked")))
	u.write("common/.git/HEAD", "ref: refs/heads/main\n")
	u.write("common/.git/commondir", gitDir+"\n")
	u.write("objects/.git/HEAD", "ref: refs/heads/main\n")
	require.NoError(t, os.MkdirAll(filepath.Join(u.dir, "objects", ".git", "refs"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(gitDir, "objects"), filepath.Join(u.dir, "objects", ".git", "objects")))
	for place, name := range map[string]string{
		"file": "", "link": "", "place": "", "common": "", "objects": "", "none": "linked", "gone": "../../../" + filepath.Base(private.dir),
	} {
		_, err := c.Module(place, name)
		require.ErrorIs(t, err, ErrNoModule, place)
	}
	for _, place := range []string{"../x", "/etc", "", ".", "a/.git", "a/../b"} {
		_, err := c.Module(place, "")
		require.ErrorIs(t, err, ErrBadName, place)
	}
}

func TestHostileModuleNames(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	u.write(".gitmodules", `[submodule "../../etc"]
	path = a
	url = --upload-pack=touch
[submodule "good"]
	path = ../b
	update = !touch evil
[submodule "x/../y"]
	path = c
[submodule "fine"]
	path = d/e
	url = ext::sh -c touch
[include]
	path = /etc/passwd
`)
	commit := u.commit("hostile")
	g := newGit(t)
	_, err := g.CreateMirror(t.Context(), filepath.Join(t.TempDir(), "m.git"), inspect(t, u.dir), commit)
	require.ErrorIs(t, err, ErrDamaged, "git refuses such a file itself")
	names, err := (&Repo{g: g, dir: filepath.Join(u.dir, ".git")}).ModuleNames(t.Context(), commit)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"d/e": "fine"}, names)
}
