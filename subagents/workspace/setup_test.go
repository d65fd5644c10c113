package workspace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/git"
	"divisi/subagents/workspace"
)

var (
	author = git.Ident{Name: "Divisi", Email: "divisi@localhost"}
	noon   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// bundle is a user's repository, its mirror and a pool of slots.
type bundle struct {
	git      *git.Git
	user     string
	checkout *git.Checkout
	mirror   *git.Repo
	pool     *workspace.Pool
	base     string
}

// newBundle makes a repository of the given files and everything that Divisi makes of it.
func newBundle(t testing.TB, files map[string]string) *bundle {
	t.Helper()
	user := filepath.Join(t.TempDir(), "user")
	require.NoError(t, os.Mkdir(user, 0o755))
	userGit(t, user, "init", "-q", "-b", "main")
	for name, content := range files {
		write(t, filepath.Join(user, name), content)
	}
	userGit(t, user, "add", "-A")
	userGit(t, user, "commit", "-q", "-m", "first")
	return mirrorOf(t, user)
}

func mirrorOf(t testing.TB, user string) *bundle {
	t.Helper()
	g, err := git.New(t.Context())
	require.NoError(t, err)
	c, err := g.Inspect(t.Context(), user)
	require.NoError(t, err)
	state := t.TempDir()
	m, err := g.CreateMirror(t.Context(), filepath.Join(state, "mirror.git"), c, c.Head)
	require.NoError(t, err)
	pool, err := workspace.NewPool(g, m, filepath.Join(state, "slots"), time.Time{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, workspace.Remove(filepath.Join(state, "slots"))) })
	return &bundle{git: g, user: user, checkout: c, mirror: m, pool: pool, base: c.Head}
}

// slot takes a slot for the rest of the test and resets it to the base.
func (b *bundle) slot(t testing.TB) *workspace.Slot {
	t.Helper()
	s, err := b.pool.Acquire(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { b.pool.Release(s) })
	require.NoError(t, s.Reset(t.Context(), b.base))
	return s
}

func fileSet(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		name := filepath.Join("pkg"+strconv.Itoa(i/10), "file"+strconv.Itoa(i)+".txt")
		files[name] = strings.Repeat("line of "+name+"\n", 40)
	}
	return files
}

func write(t testing.TB, path, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
}

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

// userGit runs git as a user would, with a harmless home.
func userGit(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir() + "/nohome", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=U", "GIT_AUTHOR_EMAIL=u@localhost", "GIT_COMMITTER_NAME=U", "GIT_COMMITTER_EMAIL=u@localhost",
		"GIT_AUTHOR_DATE=@1700000000 +0000", "GIT_COMMITTER_DATE=@1700000000 +0000", "GIT_ALLOW_PROTOCOL=file",
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}
