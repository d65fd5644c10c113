package dashboard

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyLoopback(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", "192.168.1.4:8080", "[::]:0", "example.com:80", "[2001:db8::1]:80"} {
		_, err := New(served(addr))
		require.ErrorContains(t, err, "refusing to listen", addr)
		require.ErrorContains(t, err, "ssh", addr)
	}
	for _, addr := range []string{"", "127.0.0.1:0", "localhost:0", "[::1]:0", "8080", ":8080"} {
		_, err := New(served(addr))
		require.NoError(t, err, addr)
	}
	s, err := New(served("8080"))
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:8080", s.opts.Addr)
	_, err = New(served("1:2:3"))
	require.ErrorContains(t, err, "neither a port nor")
	_, err = New(Options{})
	require.Error(t, err)
}

func served(addr string) Options {
	o := options(newLog())
	o.Addr = addr
	return o
}

// TestNameThatLeadsElsewhere: what counts is where the listener really is.
func TestNameThatLeadsElsewhere(t *testing.T) {
	t.Parallel()
	s, err := New(served("localhost:0"))
	require.NoError(t, err)
	s.listen = func(context.Context, string) (net.Listener, error) { return elsewhere{}, nil }
	require.ErrorContains(t, s.Start(t.Context()), "not a loopback address")
	s.Stop()
}

type elsewhere struct{ net.Listener }

func (elsewhere) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1} }
func (elsewhere) Close() error   { return nil }

func TestPortInUse(t *testing.T) {
	t.Parallel()
	l, err := listenTCP(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	s, err := New(served(l.Addr().String()))
	require.NoError(t, err)
	err = s.Start(t.Context())
	require.ErrorContains(t, err, l.Addr().String()+" is in use")
	require.ErrorContains(t, err, "choose another port")
	require.Empty(t, s.URL())
}

func TestLife(t *testing.T) {
	t.Parallel()
	s, err := New(options(sampleLog(t, 10)))
	require.NoError(t, err)
	s.Stop()
	ctx, cancel := context.WithCancel(context.Background())
	require.NoError(t, s.Start(ctx))
	know(s)
	require.Error(t, s.Start(ctx), "a server starts once")
	res := get(t, data(s)+"events", nil)
	cancel()
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err, "the end of the server is an ordered end of the stream")
	s.Stop()
	s.Stop()
}

func TestPage(t *testing.T) {
	t.Parallel()
	s := start(t, newLog(), nil)
	for path, mime := range map[string]string{
		"": "text/html", "app.js": "text/javascript", "app.css": "text/css", "icon.svg": "image/svg+xml",
		"api/v1/me": "application/json", "runs": "text/html", "runs/r1": "text/html", "runs/r1/tasks/log-web": "text/html",
	} {
		res := get(t, base(s)+path, nil)
		require.Equal(t, http.StatusOK, res.StatusCode, path)
		require.Contains(t, res.Header.Get("Content-Type"), mime)
		require.Equal(t, "nosniff", res.Header.Get("X-Content-Type-Options"))
		policy := res.Header.Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'none'")
		require.NotContains(t, policy, "unsafe")
	}
	page, err := io.ReadAll(get(t, base(s), nil).Body)
	require.NoError(t, err)
	inline := `<script[^>]*>[^<]|<style|\son\w+=|style=|https?://`
	require.NotRegexp(t, inline, string(page), "nothing inline, nothing from elsewhere")
	require.Equal(t, http.StatusNotFound, get(t, base(s)+"web/app.tsx", nil).StatusCode)
}

func TestAttacksFromOtherPages(t *testing.T) {
	t.Parallel()
	s := start(t, sampleLog(t, 5), nil)
	own := strings.TrimSuffix(strings.TrimPrefix(base(s), "http://"), "/")
	_, port, err := net.SplitHostPort(own)
	require.NoError(t, err)
	foreign := func(site, mode string) http.Header {
		return http.Header{"Sec-Fetch-Site": {site}, "Sec-Fetch-Mode": {mode}}
	}
	name := "localhost:" + port
	for name, c := range map[string]struct {
		path   string
		header http.Header
		want   int
	}{
		"own":                  {"api/v1/me", http.Header{"Origin": {"http://" + own}}, 200},
		"localhost":            {"api/v1/me", http.Header{"Host": {name}, "Origin": {"http://" + name}}, 200},
		"ipv6":                 {"api/v1/me", http.Header{"Host": {"[::1]:" + port}}, 200},
		"rebound name":         {"api/v1/runs/r1/events", http.Header{"Host": {"evil.example:" + port}}, 421},
		"name that ends alike": {"api/v1/runs/r1/events", http.Header{"Host": {"localhost.evil.example:" + port}}, 421},
		"wrong port":           {"api/v1/runs/r1/events", http.Header{"Host": {"127.0.0.1:1"}}, 421},
		"no port":              {"api/v1/runs/r1/events", http.Header{"Host": {"127.0.0.1"}}, 421},
		"foreign origin":       {"api/v1/runs/r1/events", http.Header{"Origin": {"https://evil.example"}}, 403},
		"null origin":          {"api/v1/runs/r1/events", http.Header{"Origin": {"null"}}, 403},
		"empty origin":         {"api/v1/runs/r1/events", http.Header{"Origin": {""}}, 403},
		"other port's origin":  {"api/v1/runs/r1/events", http.Header{"Origin": {"http://127.0.0.1:1"}}, 403},
		"https origin":         {"api/v1/runs/r1/events", http.Header{"Origin": {"https://" + own}}, 403},
		"mixed names":          {"api/v1/runs/r1/events", http.Header{"Origin": {"http://localhost:" + port}}, 403},
		"two origins":          {"api/v1/runs/r1/events", http.Header{"Origin": {"http://" + own, "https://evil.example"}}, 403},
		"foreign script":       {"api/v1/runs/r1/batch?pos=3", foreign("cross-site", "no-cors"), 403},
		"other local server":   {"api/v1/runs/r1/events", http.Header{"Sec-Fetch-Site": {"same-site"}}, 403},
		"link from elsewhere":  {"", foreign("cross-site", "navigate"), 200},
		"link to the data":     {"api/v1/runs/r1/events", foreign("cross-site", "navigate"), 403},
		"frame":                {"", foreign("cross-site", "no-cors"), 403},
	} {
		res := get(t, base(s)+c.path, c.header)
		require.Equal(t, c.want, res.StatusCode, name)
		require.Empty(t, res.Header.Get("Access-Control-Allow-Origin"), name)
		require.Equal(t, "DENY", res.Header.Get("X-Frame-Options"), name)
	}
}

func TestOnlyGetAndPost(t *testing.T) {
	t.Parallel()
	s := start(t, newLog(), nil)
	for _, method := range []string{"PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"} {
		req, err := http.NewRequestWithContext(t.Context(), method, base(s)+"api/v1/me", nil)
		require.NoError(t, err)
		res, err := client().Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusMethodNotAllowed, res.StatusCode, method)
		require.Equal(t, "GET, POST", res.Header.Get("Allow"))
	}
}

func TestBatchInFull(t *testing.T) {
	t.Parallel()
	log := sampleLog(t, 20)
	s := start(t, log, nil)
	stream := read(t, s, 0, 20)
	require.NoError(t, stream.Close())
	res := get(t, data(s)+"batch?pos=3", nil)
	require.Equal(t, http.StatusOK, res.StatusCode)
	var events []struct {
		ID  string `json:"id"`
		Pos uint64 `json:"pos"`
	}
	require.NoError(t, json.NewDecoder(res.Body).Decode(&events))
	require.Equal(t, "ev-0001", events[0].ID)
	require.EqualValues(t, 3, events[0].Pos)
	for query, want := range map[string]int{"": 400, "pos=0": 400, "pos=-1": 400, "pos=x": 400, "pos=99999": 404, "pos=1": 404} {
		require.Equal(t, want, get(t, data(s)+"batch?"+query, nil).StatusCode, query)
	}
}

// Without the token of its address the page shows nothing, and the token is exchanged for a cookie once.
func TestToken(t *testing.T) {
	t.Parallel()
	s := start(t, sampleLog(t, 5), nil)
	bare := client()
	bare.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	ask := func(url string, cookie *http.Cookie) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		if cookie != nil {
			req.AddCookie(cookie)
		}
		res, err := bare.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res
	}
	for _, path := range []string{"", "app.js", "api/v1/me", "api/v1/feed", "api/v1/runs/r1/events", "?token=", "?token=x"} {
		require.Equal(t, http.StatusUnauthorized, ask(base(s)+path, nil).StatusCode, path)
	}
	res := ask(s.URL()+"&seen=", nil)
	require.Equal(t, http.StatusSeeOther, res.StatusCode)
	require.Equal(t, "/?seen=", res.Header.Get("Location"))
	cookie := res.Cookies()[0]
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteLaxMode, cookie.SameSite)
	require.Equal(t, http.StatusOK, ask(base(s)+"api/v1/me", cookie).StatusCode)
	require.NotEqual(t, s.URL(), start(t, newLog(), nil).URL())
	cookie.Value += "x"
	require.Equal(t, http.StatusUnauthorized, ask(base(s)+"api/v1/me", cookie).StatusCode)
}
