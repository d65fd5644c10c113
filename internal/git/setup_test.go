package git

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	divisi = Ident{Name: "Divisi", Email: "divisi@localhost"}
	noon   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// user is a repository as a person has it.
type user struct {
	t   testing.TB
	dir string
}

func newUser(t testing.TB, initArgs ...string) *user {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	u := &user{t: t, dir: filepath.Join(dir, "user repo")}
	require.NoError(t, os.Mkdir(u.dir, 0o755))
	u.git(append([]string{"init", "-q", "-b", "main"}, initArgs...)...)
	return u
}

// newCommitted has one commit of a few files.
func newCommitted(t testing.TB, initArgs ...string) *user {
	t.Helper()
	u := newUser(t, initArgs...)
	u.write("a.txt", "one\ntwo\nthree\n")
	u.write("dir/b.txt", "b\n")
	u.write("dir/sub/c.txt", "c\n")
	u.write(".gitignore", "*.log\n")
	u.commit("first")
	return u
}

func (u *user) git(args ...string) string {
	u.t.Helper()
	return userGit(u.t, u.dir, args...)
}

func (u *user) write(name, content string) {
	u.t.Helper()
	path := filepath.Join(u.dir, name)
	require.NoError(u.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(u.t, os.WriteFile(path, []byte(content), 0o644))
}

func (u *user) commit(message string) string {
	u.t.Helper()
	u.git("add", "-A")
	u.git("commit", "-q", "--allow-empty", "-m", message)
	return u.git("rev-parse", "HEAD")
}

func userGit(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := userCommand(t, dir, args...).CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

func userCommand(t testing.TB, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + nowhere, "GIT_CONFIG_NOSYSTEM=1", "GIT_ALLOW_PROTOCOL=file",
		"GIT_AUTHOR_NAME=U", "GIT_AUTHOR_EMAIL=u@localhost", "GIT_COMMITTER_NAME=U", "GIT_COMMITTER_EMAIL=u@localhost",
		"GIT_AUTHOR_DATE=@1700000000 +0000", "GIT_COMMITTER_DATE=@1700000000 +0000",
	}
	return cmd
}

func newGit(t testing.TB) *Git {
	t.Helper()
	g, err := New(t.Context())
	require.NoError(t, err)
	g.userEnv = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + nowhere, "GIT_CONFIG_NOSYSTEM=1"}
	return g
}

// bundle is a user's repository with its mirror.
type bundle struct {
	*user
	g    *Git
	c    *Checkout
	m    *Repo
	base string
}

func newBundle(t testing.TB) *bundle {
	t.Helper()
	return newCommitted(t).mirrored()
}

func (u *user) mirrored() *bundle {
	u.t.Helper()
	g := newGit(u.t)
	c, err := g.Inspect(u.t.Context(), u.dir)
	require.NoError(u.t, err)
	m, err := g.CreateMirror(u.t.Context(), filepath.Join(u.t.TempDir(), "mirror.git"), c, c.Head)
	require.NoError(u.t, err)
	return &bundle{user: u, g: g, c: c, m: m, base: c.Head}
}

// change commits files onto a parent in the mirror; an empty content deletes the file. Modes are the file's own where
// the name has the form "mode:path".
func (b *bundle) change(parent string, files map[string]string) string {
	b.t.Helper()
	index := filepath.Join(b.t.TempDir(), "index")
	d := Dir{GitDir: b.m.dir, Index: index}
	_, err := b.g.Run(b.t.Context(), d, nil, "read-tree", parent)
	require.NoError(b.t, err)
	var info strings.Builder
	for name, content := range files {
		mode, path, ok := strings.Cut(name, ":")
		if !ok {
			mode, path = ModeFile, name
		}
		oid := strings.Repeat("0", len(parent))
		switch {
		case mode == ModeGitlink:
			oid = content
		case content != "":
			out, err := b.g.Run(b.t.Context(), d, strings.NewReader(content), "hash-object", "-w", "--stdin")
			require.NoError(b.t, err)
			oid = strings.TrimSpace(string(out))
		default:
			mode = "0"
		}
		info.WriteString(mode + " " + oid + "\t" + path + "\x00")
	}
	_, err = b.g.Run(b.t.Context(), d, strings.NewReader(info.String()), "update-index", "-z", "--index-info")
	require.NoError(b.t, err)
	out, err := b.g.Run(b.t.Context(), d, nil, "write-tree")
	require.NoError(b.t, err)
	id, err := b.m.CommitTree(strings.TrimSpace(string(out)), []string{parent}, "change", divisi, divisi, noon)
	require.NoError(b.t, err)
	return id
}

// snapshot is every path below a directory with its mode and content.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		value := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(data)
			value += hex.EncodeToString(sum[:])
			if !strings.Contains(rel, "objects/") { // git marks objects that it meets again as recently used
				value += info.ModTime().String()
			}
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			value += target
		}
		files[rel] = value
		return nil
	}))
	return files
}

// difference lists the paths of two snapshots that are not the same.
func difference(before, after map[string]string) []string {
	var paths []string
	for p, v := range after {
		if before[p] != v {
			paths = append(paths, p)
		}
	}
	for p := range before {
		if _, ok := after[p]; !ok {
			paths = append(paths, p)
		}
	}
	return paths
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
