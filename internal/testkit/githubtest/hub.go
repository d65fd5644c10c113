// Package githubtest is a GitHub in the process of a test, on loopback, with one repository: the REST and GraphQL calls that
// Divisi makes, and a real repository behind git's own server. It refuses what it does not know, and has the limits of the real
// one.
package githubtest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Token is what a credential may do.
type Token struct {
	Login     string
	Push      bool
	Workflows bool // as the scope of a classic token; not checked where NoScopes is set
	NoScopes  bool
	Silent    bool // its pushes start no CI
}

// Options are what a hub is made of.
type Options struct {
	Owner, Name string
	Tokens      map[string]Token
	// Writers may write besides those of tokens.
	Writers []string
	Now     func() time.Time
	// Default is the default branch; main where it is empty.
	Default          string
	AutoMerge, Queue bool
	Archived, Fork   bool
	// Protected are beginnings of refs that no push may change.
	Protected []string
	// Required are the checks that merging waits for; Approve whether it waits for an approval.
	Required []string
	Approve  bool
	// Creations bounds how many pull requests an hour are opened, Writes the writes a minute; 0 for no bound.
	Creations, Writes int
	// CI makes the checks of a pushed commit; nil for none.
	CI func(ref, sha string) []*Check
	// Before and After see each call, such as "POST /pulls": a status is the answer, before it is done and when it is done; 0
	// is none.
	Before, After func(call string) int
}

// Hub is a running GitHub. Its fields are those of its state; a test changes them in Do.
type Hub struct {
	API, Git string
	Dir      string // the bare repository

	t      testing.TB
	o      Options
	logs   *httptest.Server
	mu     sync.Mutex
	next   int64
	Pulls  []*Pull
	Checks []*Check
	opened []time.Time
	writes []time.Time
	asked  map[string]bool // for which heads and bases the forge has begun to compute whether they merge
	counts map[string]int
}

// New starts a hub with an empty repository.
func New(t testing.TB, o Options) *Hub {
	t.Helper()
	if o.Default == "" {
		o.Default = "main"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	nothing := func(string) int { return 0 }
	if o.Before == nil {
		o.Before = nothing
	}
	if o.After == nil {
		o.After = nothing
	}
	root := t.TempDir()
	h := &Hub{t: t, o: o, Dir: filepath.Join(root, o.Owner, o.Name+".git"), asked: map[string]bool{}, counts: map[string]int{}}
	h.git("", "init", "-q", "--bare", "-b", o.Default, h.Dir)
	h.git(h.Dir, "config", "http.receivepack", "true")
	s := httptest.NewServer(h.serve(root))
	h.logs = httptest.NewServer(http.HandlerFunc(h.log))
	t.Cleanup(s.Close)
	t.Cleanup(h.logs.Close)
	h.API, h.Git = s.URL+"/api/v3", fmt.Sprintf("%s/%s/%s.git", s.URL, o.Owner, o.Name)
	return h
}

// Do runs f on the state.
func (h *Hub) Do(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

// Set changes the options.
func (h *Hub) Set(f func(o *Options)) { h.Do(func() { f(&h.o) }) }

// Count is how often a call was answered, such as "POST /pulls" or "304".
func (h *Hub) Count(call string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts[call]
}

// Head is the commit of a branch; "" for none.
func (h *Hub) Head(branch string) string {
	out, err := h.run(h.Dir, "rev-parse", "--verify", "-q", "refs/heads/"+branch)
	if err != nil {
		return ""
	}
	return out
}

// Refs lists the branches.
func (h *Hub) Refs() []string {
	return strings.Fields(h.git(h.Dir, "for-each-ref", "--format=%(refname:short)", "refs/heads"))
}

// Commit puts files onto a branch of the repository, as a push of a person does; an empty text removes a file.
func (h *Hub) Commit(branch, subject string, files map[string]string) string {
	h.t.Helper()
	work := h.t.TempDir()
	h.git("", "clone", "-q", h.Dir, work)
	if h.Head(branch) != "" {
		h.git(work, "checkout", "-q", "-B", branch, "origin/"+branch)
	} else {
		h.git(work, "checkout", "-q", "-B", branch)
	}
	for name, text := range files {
		at := filepath.Join(work, name)
		require.NoError(h.t, os.MkdirAll(filepath.Dir(at), 0o755))
		if text == "" {
			require.NoError(h.t, os.Remove(at))
			continue
		}
		require.NoError(h.t, os.WriteFile(at, []byte(text), 0o644))
	}
	h.git(work, "add", "-A")
	h.git(work, "commit", "-q", "-m", subject)
	h.git(work, "push", "-q", h.Dir, branch)
	return h.Head(branch)
}

func (h *Hub) git(dir string, args ...string) string {
	h.t.Helper()
	out, err := h.run(dir, args...)
	require.NoError(h.t, err, "git %v: %s", args, out)
	return out
}

func (*Hub) run(dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(context.Background(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Person", "GIT_AUTHOR_EMAIL=person@localhost", "GIT_COMMITTER_NAME=Person",
		"GIT_COMMITTER_EMAIL=person@localhost")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}
