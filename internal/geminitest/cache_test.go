package geminitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	cachesPath = "/v1beta/cachedContents"
	// background is a cache of one user content, whose text makes about a thousand tokens.
	cacheFormat = `{"model":"models/gemini-3.8-flash","ttl":"300s","systemInstruction":{"parts":[{"text":"Role: gen"}]},` +
		`"tools":[{"functionDeclarations":[{"name":"read"}]}],"contents":[{"role":"user","parts":[{"text":%q}]}]}`
)

func cacheOf(text string) string { return fmt.Sprintf(cacheFormat, text) }

// do is post with another method.
func do(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	return post(t, url, body, func(r *http.Request) { r.Method = method })
}

// made posts a cache and returns its name and size.
func made(t *testing.T, s *Server, body string) (name string, tokens int) {
	t.Helper()
	status, text := post(t, s.URL+cachesPath, body)
	require.Equal(t, 200, status, text)
	var c struct {
		Name          string `json:"name"`
		UsageMetadata struct {
			TotalTokenCount int `json:"totalTokenCount"`
		} `json:"usageMetadata"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &c))
	return c.Name, c.UsageMetadata.TotalTokenCount
}

func TestACacheIsPartOfTheRequest(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{MinCache: 1000, Handle: func(r Request) Answer {
		return Answer{Text: r.Task + "|" + r.Role + "|" + r.Tools[0].FunctionDeclarations[0].Name + "|" + fmt.Sprint(len(r.Contents))}
	}})
	name, tokens := made(t, s, cacheOf("Task: inherited\n"+strings.Repeat("word ", 1000)))
	require.Greater(t, tokens, 1000)
	_, text := post(t, s.URL+streamPath, `{"cachedContent":"`+name+`","contents":[{"role":"user","parts":[{"text":"go"}]}]}`)
	require.Contains(t, text, "inherited|gen|read|1", "the parts on both sides of the seam are one content")
	require.Contains(t, text, fmt.Sprintf(`"cachedContentTokenCount":%d`, tokens))

	log := s.Requests()
	require.Equal(t, []any{"createCache", name, "gemini-3.8-flash"}, []any{log[0].Method, log[0].Cache, log[0].Model})
	require.Equal(t, []any{"streamGenerateContent", name, tokens}, []any{log[1].Method, log[1].Cache, log[1].Cached})
}

func TestCacheRules(t *testing.T) {
	t.Parallel()
	long := cacheOf(strings.Repeat("word ", 1000))
	ask := func(more string) string {
		return `{"cachedContent":"cachedContents/c1","contents":[{"role":"user","parts":[{"text":"go"}]}]` + more + `}`
	}
	cases := []struct {
		name, path, body string
		status           int
		want             string
		violation        bool
	}{
		{"too small", cachesPath, cacheOf("x"), 400, "min_total_token_count=1000", false},
		{"system instruction beside it", streamPath, ask(`,"systemInstruction":{"parts":[{"text":"x"}]}`), 400, "can not be used", true},
		{"tools beside it", streamPath, ask(`,"tools":[{"functionDeclarations":[{"name":"f"}]}]`), 400, "can not be used", true},
		{"tool config beside it", streamPath, ask(`,"toolConfig":{}`), 400, "can not be used", true},
		{"another model", strings.Replace(streamPath, "3.8", "3.5", 1), ask(""), 400, "has to be the same", true},
		{"nothing beside it", streamPath, `{"cachedContent":"cachedContents/c1","contents":[]}`, 400, "contents is not specified", true},
		{"unknown", streamPath, strings.Replace(ask(""), "c1", "c9", 1), 403, "CachedContent not found", false},
		{"unknown field", cachesPath, `{"model":"models/m","contentz":[]}`, 400, "contentz", true},
		{"empty", cachesPath, `{"model":"models/m"}`, 400, "no content", true},
		{"bare model", cachesPath, strings.Replace(long, "models/", "", 1), 400, "models/NAME", true},
		{"empty part", cachesPath, `{"model":"models/m","contents":[{"role":"user","parts":[{"text":""}]}]}`, 400, "empty", true},
		{"lifetime in words", cachesPath, strings.Replace(long, "300s", "5m", 1), 400, "lifetime", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := Start(t, Options{Script: parse(t, `rules: [{steps: [{text: a}]}]`), MinCache: 1000, Lenient: true})
			made(t, s, long)
			status, text := post(t, s.URL+c.path, c.body)
			require.Equal(t, c.status, status)
			require.Contains(t, text, c.want)
			require.Equal(t, c.violation, len(s.Violations()) == 1)
		})
	}
}

func TestALifeOfACache(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{Script: parse(t, `rules: [{task: "*", steps: [{text: a}]}]`)})
	name, _ := made(t, s, cacheOf("x"))
	one := s.URL + "/v1beta/" + name
	status, text := do(t, http.MethodGet, one, "")
	require.Equal(t, 200, status)
	require.Contains(t, text, name)
	status, text = do(t, http.MethodPatch, one, `{"ttl":"7200s"}`)
	require.Equal(t, 200, status)
	var c struct {
		CreateTime time.Time `json:"createTime"`
		ExpireTime time.Time `json:"expireTime"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &c))
	require.Greater(t, c.ExpireTime.Sub(c.CreateTime), time.Hour)
	require.Equal(t, []string{name}, s.Caches())
	status, _ = do(t, http.MethodDelete, one, "")
	require.Equal(t, 200, status)
	require.Empty(t, s.Caches())
	for _, method := range []string{http.MethodGet, http.MethodPatch, http.MethodDelete} {
		status, text = do(t, method, one, `{"ttl":"1s"}`)
		require.Equal(t, 403, status)
		require.Contains(t, text, noCache)
	}
}

func TestCachesExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		name := s.caches.create(cacheBody{}, 1, time.Minute).name
		<-time.After(time.Minute - 1)
		_, ok := s.caches.find(name)
		require.True(t, ok)
		s.caches.extend(name, time.Minute)
		<-time.After(time.Minute - 1)
		require.Len(t, s.Caches(), 1)
		<-time.After(1)
		_, ok = s.caches.find(name)
		require.False(t, ok)
		require.Empty(t, s.Caches())
	})
}

func TestCacheFault(t *testing.T) {
	t.Parallel()
	s := Start(t, Options{CacheFault: "429"})
	status, _ := post(t, s.URL+cachesPath, cacheOf("x"))
	require.Equal(t, 429, status)
	require.Equal(t, "429", s.Requests()[0].Fault)
	require.Empty(t, s.Caches())
}

func TestImplicitCaching(t *testing.T) {
	t.Parallel()
	ask := func(s *Server, model, text string) int {
		raw := fmt.Appendf(nil, `{"contents":[{"role":"user","parts":[{"text":%q}]}]}`, text)
		h := http.Header{}
		h.Set("X-Goog-Api-Key", "k")
		s.Ask(h, model, "streamGenerateContent", raw)
		log := s.Requests()
		return log[len(log)-1].Cached
	}
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{
			Script: parse(t, `rules: [{task: "*", steps: [{text: a}]}]`), Implicit: true, MinCache: 100, Delay: time.Second,
		})
		long := strings.Repeat("word ", 200)
		require.Zero(t, ask(s, "m", long+"1"))
		require.Zero(t, ask(s, "m", long+"2"), "the first answer has not begun")
		<-time.After(time.Second)
		require.InDelta(t, 250, ask(s, "m", long+"3"), 20)
		require.InDelta(t, 125, ask(s, "m", long[:500]+"4"), 20, "as much as is the same")
		require.Zero(t, ask(s, "m", long[:300]+"5"), "less than the minimum")
		require.Zero(t, ask(s, "m", "other "+long), "not from the first byte on")
		require.Zero(t, ask(s, "other", long+"1"), "another model")
	})
}
