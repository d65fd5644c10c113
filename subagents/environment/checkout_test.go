package environment

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// checkout is a directory with files; a content that begins with -> is a link.
func checkout(t *testing.T, files map[string]string) *os.Root {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	for name, content := range files {
		put(t, dir, name, content)
	}
	return root
}

func put(t *testing.T, dir, name, content string) {
	t.Helper()
	file := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	if len(content) > 2 && content[:2] == "->" {
		require.NoError(t, os.Symlink(content[2:], file))
		return
	}
	require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
}

// take makes an environment of paths of a checkout, in a store that calls before each making.
func take(t *testing.T, root *os.Root, before func(), paths ...string) (*Environment, bool, error) {
	t.Helper()
	store := NewStore(filepath.Join(t.TempDir(), "environments"), func(dir string) error {
		before()
		return os.RemoveAll(dir)
	}, time.Now)
	e, made, err := store.FromCheckout(t.Context(), Recipe{System: "linux"}, root, paths, func() {})
	t.Cleanup(store.Close)
	return e, made, err
}

// listing is what an environment has below its tree, links with their targets.
func listing(t *testing.T, e *Environment) map[string]string {
	t.Helper()
	have := map[string]string{}
	top := filepath.Join(e.Dir, treeDir)
	require.NoError(t, filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		rel, err := filepath.Rel(top, name)
		require.NoError(t, err)
		switch {
		case d.IsDir():
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			require.NoError(t, err)
			have[rel] = "->" + target
		default:
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			have[rel] = string(data)
		}
		return nil
	}))
	return have
}

func TestSnapshotOfTheCheckout(t *testing.T) {
	t.Parallel()
	root := checkout(t, map[string]string{
		"node_modules/a/index.js": "a", "node_modules/.bin/a": "->../a/index.js", "node_modules/dep": "->../packages/dep",
		"packages/dep/node_modules/b/i.js": "b", "gen.go": "made", "src/main.go": "tracked", "other/x": "not named",
	})
	require.NoError(t, os.Chmod(filepath.Join(root.Name(), "node_modules/a/index.js"), 0o755))
	require.NoError(t, os.Chmod(filepath.Join(root.Name(), "node_modules/a"), 0o555))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(root.Name(), "node_modules/a"), 0o755) })
	put(t, root.Name(), "node_modules/whole", "->"+filepath.Join(root.Name(), "packages/dep"))
	e, made, err := take(t, root, func() {}, "node_modules", "packages/dep/node_modules", "gen.go")
	require.NoError(t, err)
	require.True(t, made)
	require.Equal(t, []string{"node_modules", "packages/dep/node_modules"}, e.Places)
	require.Equal(t, []string{"gen.go"}, e.Files)
	require.Empty(t, e.Notes)
	require.Equal(t, map[string]string{
		"node_modules/a/index.js": "a", "node_modules/.bin/a": "->../a/index.js", "node_modules/dep": "->../packages/dep",
		"node_modules/whole": "->../packages/dep", "packages/dep/node_modules/b/i.js": "b", "gen.go": "made",
	}, listing(t, e))
	its, err := os.Stat(e.Lower("node_modules/a/index.js"))
	require.NoError(t, err)
	theirs, err := root.Stat("node_modules/a/index.js")
	require.NoError(t, err)
	require.Equal(t, theirs.Mode(), its.Mode())
	require.Equal(t, theirs.ModTime(), its.ModTime())
	require.False(t, os.SameFile(its, theirs), "never a hard link")
}

// The same checkout has the same environment; what differs in anything has another one.
func TestSnapshotIsFoundAgain(t *testing.T) {
	t.Parallel()
	root := checkout(t, map[string]string{"dist/a": "one", "dist/b": "two"})
	store := NewStore(filepath.Join(t.TempDir(), "environments"), os.RemoveAll, time.Now)
	t.Cleanup(store.Close)
	again := func() (string, bool) {
		e, made, err := store.FromCheckout(t.Context(), Recipe{System: "linux"}, root, []string{"dist"}, func() {})
		require.NoError(t, err)
		store.Close()
		return e.ID, made
	}
	first, made := again()
	require.True(t, made)
	id, made := again()
	require.False(t, made)
	require.Equal(t, first, id)
	info, err := root.Stat("dist/a")
	require.NoError(t, err)
	put(t, root.Name(), "dist/a", "ONE") // of the same size, with the old time
	require.NoError(t, os.Chtimes(filepath.Join(root.Name(), "dist/a"), info.ModTime(), info.ModTime()))
	id, made = again()
	require.True(t, made)
	require.NotEqual(t, first, id)
}

func TestSnapshotTakesNoSecrets(t *testing.T) {
	t.Parallel()
	key := "-----BEGIN OPENSSH PRIVATE KEY-----\nsecret\n"
	kept := map[string]string{
		"ok.js": "ok", "pub.txt": "-----BEGIN PUBLIC KEY-----\n", "pem.js": `const begin = "-----BEGIN PRIVATE KEY-----"`,
	}
	files := map[string]string{
		"d/harmless": key, "d/x/also.txt": key, "d/both": "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n" + key,
		"d/bag": "Bag Attributes\r\n    localKeyID: 01\r\n-----BEGIN ENCRYPTED PRIVATE KEY-----\r\nsecret\r\n",
		"d/pgp": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nsecret\n",
	}
	for name, content := range kept {
		files["d/"+name] = content
	}
	for _, name := range []string{
		".env", ".env.local", "sub/.git/config", "sub/.npmrc", "id_rsa", "tls/server.pem", ".netrc", ".pypirc", "home/.aws/credentials",
		"home/.docker/config.json", "home/.config/gcloud/key.json", "worktree/.git",
	} {
		files["d/"+name] = "secret"
	}
	root := checkout(t, files)
	e, _, err := take(t, root, func() {}, "d")
	require.NoError(t, err)
	for name, content := range listing(t, e) {
		require.Equal(t, kept[strings.TrimPrefix(name, "d/")], content, name)
	}
	require.Len(t, listing(t, e), len(kept))
	require.Len(t, e.Notes, 1)
	require.Contains(t, e.Notes[0], "17 files of the checkout were left out, because they can hold keys or credentials")
	require.NotContains(t, fmt.Sprint(e.Manifest), "secret\n")
}

func TestHostilePathsOfTheCheckout(t *testing.T) {
	t.Parallel()
	outside := checkout(t, map[string]string{"secret.txt": "secret"})
	root := checkout(t, map[string]string{
		"dir/file": "f", "out": "->" + outside.Name(), "dir/up": "->../../../../../../etc", "dir/passwd": "->/etc/passwd",
		"dir/abs": "->" + outside.Name() + "/secret.txt", "in": "->dir", "dir/loop": "->loop", "dir/gone": "->nowhere",
	})
	for name, want := range map[string]string{
		"../x": "never taken", "/etc": "never taken", ".": "never taken", "": "never taken", "a//b": "never taken", ".env": "never taken",
		".git": "never taken", "dir/.git": "never taken", "out/secret.txt": "out is no directory", "in/file": "in is no directory",
		"dir/up/passwd": "dir/up is no directory", "none": "no such file",
	} {
		_, _, err := take(t, root, func() {}, name)
		require.ErrorContains(t, err, want, name)
	}
	e, _, err := take(t, root, func() {}, "dir")
	require.NoError(t, err)
	for name, content := range listing(t, e) {
		require.NotContains(t, content, "secret", name)
		require.NotContains(t, content, "root:", name)
	}
	require.Equal(t, "f", listing(t, e)["dir/file"])
	require.Equal(t, "->nowhere", listing(t, e)["dir/gone"])
	require.NotContains(t, listing(t, e), "dir/abs")
}

func TestSnapshotOfWhatIsNoFile(t *testing.T) {
	t.Parallel()
	root := checkout(t, map[string]string{"d/tool": "tool", "d/x": "x"})
	require.NoError(t, syscall.Mkfifo(filepath.Join(root.Name(), "d/fifo"), 0o600))
	require.NoError(t, os.Chmod(filepath.Join(root.Name(), "d/tool"), 0o755|os.ModeSetuid))
	short := filepath.Join(root.Name(), "d/s")
	if l, err := net.Listen("unix", short); err == nil {
		defer l.Close()
	}
	e, _, err := take(t, root, func() {}, "d")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"d/tool": "tool", "d/x": "x"}, listing(t, e))
	info, err := os.Stat(e.Lower("d/tool"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o755), info.Mode())
	require.Contains(t, e.Notes[0], "pipes and sockets of the checkout were left out: d/fifo")
	if syscall.Mknod(filepath.Join(root.Name(), "d/null"), syscall.S_IFCHR|0o600, 1<<8|3) != nil {
		return // this user may make none
	}
	_, _, err = take(t, root, func() {}, "d")
	require.ErrorContains(t, err, "d/null is a device")
}

func TestCheckoutThatChangesMeanwhile(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, dir string, n int){
		"written": func(t *testing.T, dir string, n int) { put(t, dir, "d/a", fmt.Sprint("changed ", n)) },
		"replaced": func(t *testing.T, dir string, n int) {
			require.NoError(t, os.Rename(filepath.Join(dir, fmt.Sprint("spare", n)), filepath.Join(dir, "d/a")))
		},
		"added": func(t *testing.T, dir string, n int) { put(t, dir, fmt.Sprintf("d/new%d", n), "x") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for times, fails := range []bool{false, false, true} {
				root, n := checkout(t, map[string]string{"d/a": "a", "d/b": "b", "spare1": "s", "spare2": "s"}), 0
				e, _, err := take(t, root, func() {
					if n++; n <= times*2 && n%2 == 1 { // before a making, and not after it
						change(t, root.Name(), n/2+1)
					}
				}, "d")
				if fails {
					changed := new(ChangedError)
					require.ErrorAs(t, err, &changed)
					require.Regexp(t, `\bd(/a)? of the checkout changed`, err.Error())
					require.ErrorContains(t, err, "changed while it was copied, twice")
					continue
				}
				require.NoError(t, err)
				require.Equal(t, "b", listing(t, e)["d/b"])
			}
		})
	}
}

func TestAPathThatIsNotTakenVanishes(t *testing.T) {
	t.Parallel()
	root := checkout(t, nil)
	require.NoError(t, syscall.Mkfifo(filepath.Join(root.Name(), "pipe"), 0o600))
	_, _, err := take(t, root, func() { _ = root.Remove("pipe") }, "pipe")
	require.ErrorContains(t, err, "inspect pipe of the checkout")
}
