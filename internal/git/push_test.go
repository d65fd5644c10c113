package git

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A branch of a remote moves only from where it was said to be, and no hook of the user runs.
func TestPushComparesAndSets(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	bare := filepath.Join(t.TempDir(), "remote.git")
	b.git("clone", "-q", "--bare", ".", bare)
	b.git("remote", "add", "up", bare)
	remotes, err := b.g.Remotes(t.Context(), b.c)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"up": bare}, remotes)
	one := b.change(b.base, map[string]string{"dir/b.txt": "1\n"})
	two := b.change(one, map[string]string{"dir/b.txt": "2\n"})
	to := Remote{URL: bare}
	head := func() string { return must(b.m.RemoteHead(t.Context(), to, "divisi/r")) }

	require.Empty(t, head())
	require.ErrorIs(t, b.m.Push(t.Context(), to, "divisi/r", one, b.base), ErrStale)
	require.NoError(t, b.m.Push(t.Context(), to, "divisi/r", two, ""))
	require.Equal(t, two, head())
	require.ErrorIs(t, b.m.Push(t.Context(), to, "divisi/r", one, ""), ErrStale)
	require.ErrorIs(t, b.m.Push(t.Context(), to, "divisi/r", one, b.base), ErrStale)
	require.NoError(t, b.m.Push(t.Context(), to, "divisi/r", one, two), "back")
	require.Equal(t, one, head())
	require.Error(t, b.m.Push(t.Context(), Remote{URL: "ext::sh -c true"}, "divisi/r", two, one))

	b.commit("moved on")
	b.git("push", "-q", "up", "HEAD:refs/heads/next")
	next, err := b.m.FetchBranch(t.Context(), to, "next")
	require.NoError(t, err)
	require.True(t, must(b.m.IsAncestor(t.Context(), b.base, next)))
	require.False(t, must(b.m.IsAncestor(t.Context(), one, next)))
}

// Over HTTP a secret goes to git by what the caller sets for it.
func TestPushWithASecret(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	root := t.TempDir()
	bare := filepath.Join(root, "remote.git")
	b.git("clone", "-q", "--bare", ".", bare)
	userGit(t, bare, "config", "http.receivepack", "true")
	exec := strings.TrimSpace(userGit(t, bare, "--exec-path"))
	backend := &cgi.Handler{
		Path: filepath.Join(exec, "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "PATH=" + os.Getenv("PATH")},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, secret, _ := r.BasicAuth()
		if user != "x" || secret != "s3cret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	defer server.Close()
	one := b.change(b.base, map[string]string{"dir/b.txt": "1\n"})
	to := Remote{
		URL: server.URL + "/remote.git", Env: []string{"SECRET=s3cret"},
		Config: []string{"credential.helper=", `credential.helper=!f() { echo username=x; echo "password=$SECRET"; }; f`},
	}
	require.NoError(t, b.m.Push(t.Context(), to, "divisi/r", one, ""))
	require.Equal(t, one, must(b.m.RemoteHead(t.Context(), to, "divisi/r")))
	to.Env = []string{"SECRET=other"}
	err := b.m.Push(t.Context(), to, "divisi/r", b.base, one)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "other")
}
