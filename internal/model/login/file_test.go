package login

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/model"
)

// endpoint rotates tokens strictly: a refresh token that was used, or that it has not given, is refused.
type endpoint struct {
	*httptest.Server

	mu     sync.Mutex
	n      int
	status int
	// answered is called when a token is used up, before the answer leaves.
	answered func()
}

func newEndpoint(t *testing.T) *endpoint {
	t.Helper()
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked map[string]string
		err := json.NewDecoder(r.Body).Decode(&asked)
		e.mu.Lock()
		defer e.mu.Unlock()
		switch {
		case e.status != 0:
			w.WriteHeader(e.status)
			fmt.Fprint(w, `{"error":"down"}`)
			return
		case err != nil, r.URL.Path != "/v1/oauth/token", asked["grant_type"] != "refresh_token", asked["client_id"] != clientID,
			asked["scope"] != "user:inference user:profile", asked["refresh_token"] != fmt.Sprintf("refresh-%d", e.n):
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"invalid_grant"}`)
			return
		}
		e.n++
		if e.answered != nil {
			e.answered()
		}
		fmt.Fprintf(w, `{"access_token":"access-%d","refresh_token":"refresh-%d","expires_in":3600}`, e.n, e.n)
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.n
}

// keeps writes a login as its program does, and opens it.
func keeps(t *testing.T, e *endpoint, n int, rest time.Duration) *File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "claude", ".credentials.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	write(t, path, n, rest)
	return &File{path, e.URL + "/v1/oauth/token", e.Client()}
}

func write(t *testing.T, path string, n int, rest time.Duration) {
	t.Helper()
	text := fmt.Sprintf(`{"mcpOAuth":{"a":{"x":1}},"claudeAiOauth":{"accessToken":"access-%d","refreshToken":"refresh-%d","expiresAt":%d,`+
		`"scopes":["user:inference","user:profile"],"subscriptionType":"max"}}`, n, n, time.Now().Add(rest).UnixMilli())
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// A token that is good is used; one that ends soon, or that the service refuses, is rotated, and the file keeps all else.
func TestATokenIsRotated(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	f := keeps(t, e, 0, time.Hour)
	token, fault := f.Token(t.Context(), "")
	require.Nil(t, fault)
	require.Equal(t, "access-0", token)
	require.Zero(t, e.count())

	token, fault = f.Token(t.Context(), "access-0") // the service refused it in the middle of a run
	require.Nil(t, fault)
	require.Equal(t, "access-1", token)
	token, fault = f.Token(t.Context(), "access-0")
	require.Nil(t, fault)
	require.Equal(t, "access-1", token, "once for all that were refused")
	require.Equal(t, 1, e.count())

	write(t, f.path, 1, time.Minute)
	token, fault = f.Token(t.Context(), "")
	require.Nil(t, fault)
	require.Equal(t, "access-2", token)
	var kept struct {
		MCP   json.RawMessage `json:"mcpOAuth"`
		Login struct {
			Refresh string `json:"refreshToken"`
			Expires int64  `json:"expiresAt"`
			Kind    string `json:"subscriptionType"`
		} `json:"claudeAiOauth"`
	}
	data, err := os.ReadFile(f.path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &kept))
	require.JSONEq(t, `{"a":{"x":1}}`, string(kept.MCP))
	require.Equal(t, "refresh-2", kept.Login.Refresh)
	require.Equal(t, "max", kept.Login.Kind)
	require.Greater(t, kept.Login.Expires, time.Now().Add(50*time.Minute).UnixMilli())
	info, err := os.Stat(f.path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	alone(t, f)
}

// alone requires that nothing is left beside the file, and beside its directory.
func alone(t *testing.T, f *File) {
	t.Helper()
	for _, dir := range []string{filepath.Dir(f.path), filepath.Dir(filepath.Dir(f.path))} {
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, left, 1, left)
	}
}

// Many calls of many processes at once refresh once; a link to the file stays one.
func TestOneRefreshesForAll(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	f := keeps(t, e, 0, -time.Hour)
	link := filepath.Join(t.TempDir(), ".credentials.json")
	require.NoError(t, os.Symlink(f.path, link))
	var all sync.WaitGroup
	for i := range 32 {
		path := f.path
		if i%2 == 0 {
			path = link
		}
		all.Go(func() {
			other := &File{path, f.endpoint, f.client}
			d, err := other.refreshed(t.Context(), "") // as a process of its own
			if err != nil || d.login.Access != "access-1" {
				t.Errorf("%v, %v", d, err)
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, e.count())
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	alone(t, f)
}

// The person's own program holds the lock and refreshes: its token is taken. A lock that nothing renews is broken.
func TestTheProgramRefreshesItself(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	f := keeps(t, e, 0, -time.Hour)
	held := filepath.Join(filepath.Dir(f.path), ".oauth_refresh.lock")
	require.NoError(t, os.Mkdir(held, 0o700))
	got := make(chan string)
	go func() {
		token, _ := f.Token(t.Context(), "")
		got <- token
	}()
	write(t, f.path, 7, time.Hour)
	require.NoError(t, os.Remove(held))
	require.Equal(t, "access-7", <-got)
	require.Zero(t, e.count())

	write(t, f.path, 0, -time.Hour)
	require.NoError(t, os.Mkdir(held, 0o700))
	old := time.Now().Add(-time.Minute)
	require.NoError(t, os.Chtimes(held, old, old))
	token, fault := f.Token(t.Context(), "")
	require.Nil(t, fault)
	require.Equal(t, "access-1", token)
	alone(t, f)
}

// A lock is renewed while the others are waited for. One that another program has taken by then is left to it.
func TestALockIsRenewedFromItsBeginning(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "claude")
	first, last := filepath.Join(dir, ".oauth_refresh.lock"), filepath.Join(dir, ".storage-write.lock")
	require.NoError(t, os.MkdirAll(last, 0o700))
	synctest.Test(t, func(t *testing.T) { // files have the time of the machine until they are renewed
		got := make(chan func())
		go func() {
			unlock, err := lock(t.Context(), dir)
			if err != nil {
				t.Error(err)
			}
			got <- unlock
		}()
		<-time.After(stale / 2)
		synctest.Wait()
		info, err := os.Stat(first)
		require.NoError(t, err)
		require.Less(t, info.ModTime(), time.Now().Add(time.Second), "it is renewed")
		require.NoError(t, os.Remove(first))
		require.NoError(t, os.Mkdir(first, 0o700))
		require.NoError(t, os.Remove(last))
		(<-got)()
		require.DirExists(t, first)
		require.NoDirExists(t, last)
		require.NoDirExists(t, dir+".lock")
	})
}

// A process that is killed between the answer and the new file's place has lost nothing: the next one takes it from beside the
// file. What is older than a new login of the person, or half written, is removed.
func TestAKillBeforeTheRename(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	f := keeps(t, e, 0, -time.Hour)
	d, err := read(f.path)
	require.NoError(t, err)
	got, err := f.ask(t.Context(), &d.login)
	require.NoError(t, err)
	require.NoError(t, d.put(got, time.Now().Add(time.Hour).UnixMilli()))
	require.NoError(t, stage(f.path, d)) // killed here
	token, fault := f.Token(t.Context(), "")
	require.Nil(t, fault)
	require.Equal(t, "access-1", token)
	require.Equal(t, 1, e.count())
	alone(t, f)

	require.NoError(t, stage(f.path, d))
	write(t, f.path, 1, 2*time.Hour) // a login that is newer
	token, fault = f.Token(t.Context(), "access-1")
	require.Nil(t, fault)
	require.Equal(t, "access-2", token)
	alone(t, f)

	require.NoError(t, os.WriteFile(f.path+staged, []byte(`{"claudeAiOauth":{"acc`), 0o600))
	token, fault = f.Token(t.Context(), "access-2")
	require.Nil(t, fault)
	require.Equal(t, "access-3", token)
	alone(t, f)
}

// A refused refresh says what to do and names no token; a failing endpoint leaves a token that is still good in use.
func TestARefusedRefresh(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	f := keeps(t, e, 5, -time.Hour) // a token that was used
	before, err := os.ReadFile(f.path)
	require.NoError(t, err)
	_, fault := f.Token(t.Context(), "")
	require.NotNil(t, fault)
	require.Equal(t, model.Auth, fault.Class)
	require.Contains(t, fault.Message, "has run out, or was withdrawn; log in again with claude")
	require.NotContains(t, fault.Error(), "refresh-5")
	after, err := os.ReadFile(f.path)
	require.NoError(t, err)
	require.Equal(t, before, after)

	e.mu.Lock()
	e.status = http.StatusBadGateway
	e.mu.Unlock()
	_, fault = f.Token(t.Context(), "")
	require.Equal(t, model.Unavailable, fault.Class, fault)
	write(t, f.path, 0, 2*time.Minute)
	token, fault := f.Token(t.Context(), "")
	require.Nil(t, fault)
	require.Equal(t, "access-0", token)
	require.NoError(t, os.Remove(f.path))
	_, fault = f.Token(t.Context(), "")
	require.Equal(t, model.Auth, fault.Class)
	left, err := os.ReadDir(filepath.Dir(f.path))
	require.NoError(t, err)
	require.Empty(t, left)
}

// A program that gives up in the middle of a refresh does not take the rotated token with it.
func TestACallThatIsGivenUp(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t)
	f := keeps(t, e, 0, -time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	e.answered = cancel
	_, _ = f.Token(ctx, "")
	d, err := read(f.path)
	require.NoError(t, err)
	require.Equal(t, "refresh-1", d.login.Refresh)
}

// Files that nothing can be called with are told, with what to do instead, and without their content.
func TestFind(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "CODEX_HOME"} {
		t.Setenv(name, "")
	}
	for _, agent := range []string{"claude", "codex", "gemini", "opencode"} {
		kept, err := Find(agent)
		require.NoError(t, err, agent)
		require.Nil(t, kept, agent)
	}
	for _, name := range []string{".claude", ".codex", ".gemini"} {
		require.NoError(t, os.Mkdir(filepath.Join(home, name), 0o700))
	}
	put := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(home, name), []byte(text), 0o600))
	}
	put(".claude/.credentials.json", `{"mcpOAuth":{}}`)
	put(".codex/auth.json", `{"OPENAI_API_KEY":null,"tokens":{"access_token":"secret-token"}}`)
	put(".gemini/oauth_creds.json", `{"access_token":"secret-token"}`)
	for agent, want := range map[string]string{
		"claude": "has no login: log in with claude", "codex": "codex login --with-api-key", "gemini": "export GEMINI_API_KEY",
	} {
		_, err := Find(agent)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret-token")
	}
	write(t, filepath.Join(home, ".claude/.credentials.json"), 1, time.Hour)
	put(".codex/auth.json", `{"OPENAI_API_KEY":"sk-a-key"}`)
	kept, err := Find("claude")
	require.NoError(t, err)
	require.Equal(t, "CLAUDE_CODE_OAUTH_TOKEN", kept.Name)
	require.True(t, strings.HasPrefix(kept.Value, Mark+home), kept.Value)
	kept, err = Find("codex")
	require.NoError(t, err)
	require.Equal(t, []string{"CODEX_API_KEY", "sk-a-key"}, []string{kept.Name, kept.Value})
	put(".codex/auth.json", `{"OPENAI_API_KEY":"sk-a-ke`)
	_, err = Find("codex")
	require.ErrorContains(t, err, "read the key")
	require.NotContains(t, err.Error(), "sk-a")
}
