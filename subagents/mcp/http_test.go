package mcp

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"divisi/internal/spec"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// plainHandler serves the plain server's tools; sessions that are still open end with the test.
func plainHandler(t *testing.T, o *sdk.StreamableHTTPOptions) http.Handler {
	t.Helper()
	server := plainServer()
	t.Cleanup(func() {
		for session := range server.Sessions() {
			_ = session.Close() // a session of a test
		}
	})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, o)
}

func site(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// hang answers nothing until its caller is gone, which it sees only once it has read what was sent.
func hang(_ http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err == nil {
		<-r.Context().Done()
	}
}

func TestAnAddressesToolsAreTheAgents(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*sdk.StreamableHTTPOptions{"events": nil, "json": {JSONResponse: true}, "stateless": {Stateless: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen atomic.Value
			h := plainHandler(t, o)
			web := site(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen.Store(r.Header.Get("Authorization"))
				h.ServeHTTP(w, r)
			}))
			s := newStage(t, map[string]spec.MCPServer{"web": {
				URL: web.URL + "/mcp", Headers: map[string]string{"Authorization": "WEB_AUTH"},
			}}, "WEB_AUTH=Bearer abc")
			require.Equal(t, "hello", s.run("mcp_web_echo", `{"text":"hello"}`))
			require.Equal(t, "Bearer abc", seen.Load())
			require.Equal(t, "the file is locked", s.run("mcp_web_fail", `{}`))
			require.Contains(t, s.run("mcp_web_huge", `{"n":17000000}`), "16777216 bytes")
			require.Equal(t, "again", s.run("mcp_web_echo", `{"text":"again"}`))
		})
	}
}

func TestAnAddressThatRedirectsElsewhere(t *testing.T) {
	t.Parallel()
	var reached atomic.Bool
	elsewhere := site(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	from := site(t, http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	s := &stage{t: t}
	_, err := Open(t.Context(), map[string]spec.MCPServer{"web": {URL: from.URL, Headers: map[string]string{"X": "X"}}}, s.options("X=1"))
	require.ErrorContains(t, err, "it redirects to another server")
	require.False(t, reached.Load())
	mux := http.NewServeMux()
	mux.Handle("/there", plainHandler(t, nil))
	mux.Handle("/", http.RedirectHandler("/there", http.StatusTemporaryRedirect))
	within := newStage(t, map[string]spec.MCPServer{"web": {URL: site(t, mux).URL}})
	require.Equal(t, "x", within.run("mcp_web_echo", `{"text":"x"}`))
}

func TestAnAddressThatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"is not there":  {http.NotFound, "Not Found"},
		"is no server":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, "unsupported content type"},
		"is forbidden":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, "Forbidden"},
		"never answers": {hang, "it was not ready after 1s"},
		"answers for ever": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for err := error(nil); err == nil; {
				_, err = io.WriteString(w, strings.Repeat(" ", 1<<16))
			}
		}, "than 16777216 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := site(t, c.handler)
			o := (&stage{t: t}).options()
			if strings.HasPrefix(name, "never") {
				o.Start = time.Second
			}
			_, err := Open(t.Context(), map[string]spec.MCPServer{"web": {URL: s.URL}}, o)
			require.ErrorContains(t, err, "the MCP server web failed twice")
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestAnAddressThatForgetsItsSession(t *testing.T) {
	t.Parallel()
	// A server that was started again knows no session of before.
	var handler atomic.Value
	handler.Store(plainHandler(t, nil))
	web := site(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.Load().(http.Handler).ServeHTTP(w, r) // only handlers are stored
	}))
	s := newStage(t, map[string]spec.MCPServer{"web": {URL: web.URL}})
	require.Equal(t, "x", s.run("mcp_web_echo", `{"text":"x"}`))
	handler.Store(plainHandler(t, nil))
	s.run("mcp_web_echo", `{"text":"x"}`)
	require.Equal(t, "x", s.run("mcp_web_echo", `{"text":"x"}`))
	web.Close()
	s.run("mcp_web_echo", `{"text":"x"}`)
	require.Contains(t, s.run("mcp_web_echo", `{"text":"x"}`), "failed twice and is not started again")
}

func TestAnAddressThatHangs(t *testing.T) {
	t.Parallel()
	var hangs atomic.Bool
	h := plainHandler(t, nil)
	web := site(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hangs.Load() {
			hang(w, r)
			return
		}
		h.ServeHTTP(w, r)
	}))
	s := newStage(t, map[string]spec.MCPServer{"web": {URL: web.URL, Timeout: spec.Duration(200 * time.Millisecond)}})
	hangs.Store(true)
	require.Contains(t, s.run("mcp_web_echo", `{"text":"x"}`), "it did not answer in time, nor when it was asked whether it lives")
	hangs.Store(false)
	require.Equal(t, "x", s.run("mcp_web_echo", `{"text":"x"}`))
}
