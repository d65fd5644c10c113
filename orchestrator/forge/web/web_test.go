package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/testkit/githubtest"
	"divisi/orchestrator/forge"
	"divisi/orchestrator/forge/web"
)

func client(t *testing.T, h http.HandlerFunc) (*web.Client, *githubtest.Clock) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	base, err := url.Parse(s.URL + "/api")
	require.NoError(t, err)
	at := githubtest.NewClock(time.Unix(1_800_000_000, 0))
	return &web.Client{
		Base: base, HTTP: web.HTTP(), Clock: at, Authorize: func(r *http.Request) {
			r.Header.Set("Authorization",
				"Bearer secret")
		},
	}, at
}

func TestPagesStayAtTheForge(t *testing.T) {
	t.Parallel()
	link := ""
	c, _ := client(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", link)
		_, _ = w.Write([]byte(`[1]`))
	})
	for _, to := range []string{
		"https://evil.example/api/list?page=2", "http://127.0.0.1:1/api/list", "/api/list",
		c.Base.Scheme + "://" + c.Base.Host + "/other",
	} {
		link = "<" + to + `>; rel="next"`
		_, err := web.All[int](t.Context(), c, "/list")
		require.ErrorContains(t, err, "is not below", to)
	}
	link = "<" + c.Base.String() + `/list>; rel="next"`
	_, err := web.All[int](t.Context(), c, "/list")
	require.ErrorContains(t, err, "more than 100 pages")
}

func TestAPathDoesNotLeaveTheForge(t *testing.T) {
	t.Parallel()
	c, _ := client(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	c.Base.Path = ""
	_, err := c.Get(t.Context(), "@evil.example/x", nil)
	require.ErrorContains(t, err, "is not below")
	require.NotContains(t, err.Error(), "secret")
}

func TestAnAnswerIsBoundedAndOfTheFormThatIsDescribed(t *testing.T) {
	t.Parallel()
	answer := strings.Repeat("x", 17<<20)
	c, _ := client(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) })
	_, err := c.Get(t.Context(), "/x", nil)
	require.ErrorContains(t, err, "more than 16 MB")
	answer = `{"number":"seven"}`
	var out struct{ Number int }
	_, err = c.Get(t.Context(), "/x", &out)
	require.ErrorContains(t, err, "not what the forge describes")
	part, err := c.Bytes(t.Context(), "/x", 4)
	require.NoError(t, err)
	require.Equal(t, answer[:4], string(part))
}

// A limit that names its end is waited for until then, one that names none for longer each time. Neither is a missing right.
func TestLimits(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]struct {
		header, value string
		waits         time.Duration
	}{
		"retry after":  {"Retry-After", "90", 90 * time.Second},
		"reset":        {"X-Ratelimit-Reset", strconv.Itoa(1_800_000_000 + 300), 5 * time.Minute},
		"no time":      {"X-None", "", time.Minute + 2*time.Minute},
		"a wrong time": {"Retry-After", "999999999", time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refusals := 1
			if limit.value == "" {
				refusals = 2
			}
			c, at := client(t, func(w http.ResponseWriter, _ *http.Request) {
				if refusals--; refusals >= 0 {
					w.Header().Set(limit.header, limit.value)
					if strings.HasPrefix(limit.header, "X-Ratelimit") {
						w.Header().Set("X-Ratelimit-Remaining", "0")
					}
					http.Error(w, `{"message":"You have exceeded a secondary rate limit"}`, http.StatusForbidden)
					return
				}
				_, _ = w.Write([]byte(`{}`))
			})
			from := at.Now()
			require.NoError(t, c.Write(t.Context(), http.MethodPost, "/x", map[string]string{}, nil))
			require.Equal(t, limit.waits, at.Now().Sub(from))
		})
	}
	c, _ := client(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"message":"Resource not accessible"}`, http.StatusForbidden)
	})
	require.ErrorIs(t, c.Write(t.Context(), http.MethodPost, "/x", nil, nil), forge.ErrForbidden)
}

// A write is not sent on to another address with its body, and its loss is uncertain.
func TestAWriteGoesToOneAddress(t *testing.T) {
	t.Parallel()
	sent := 0
	c, _ := client(t, func(w http.ResponseWriter, r *http.Request) {
		sent++
		if strings.HasSuffix(r.URL.Path, "/moved") {
			http.Redirect(w, r, "/api/other", http.StatusTemporaryRedirect)
			return
		}
		panic(http.ErrAbortHandler)
	})
	require.ErrorIs(t, c.Write(t.Context(), http.MethodPost, "/lost", map[string]string{}, nil), forge.ErrUncertain)
	require.ErrorContains(t, c.Write(t.Context(), http.MethodPost, "/moved", map[string]string{}, nil), "moved to another address")
	require.Equal(t, 2, sent)
}
