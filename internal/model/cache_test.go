package model_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/internal/geminitest"
	"divisi/internal/model"
	"divisi/internal/model/modeltest"
)

// prefixed is a request whose system instruction, tools and first part a cache can hold.
func prefixed() *model.Request {
	req := modeltest.Ask("t", "background")
	req.Contents[0].Parts = append(req.Contents[0].Parts, &genai.Part{Text: "brief"})
	req.Config = &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText("role", ""), MaxOutputTokens: 99,
		Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "read", ParametersJsonSchema: map[string]any{
			"type": "object",
		}}}}},
	}
	return req
}

// cacheFor makes the cache of a request's first part.
func cacheFor(t *testing.T, g *model.Gemini, req *model.Request) model.Cache {
	t.Helper()
	c, err := g.CreateCache(t.Context(), model.CacheRequest{
		Model: req.Model, System: req.Config.SystemInstruction, Tools: req.Config.Tools, TTL: 300 * time.Second, Label: "siblings",
		Contents: []*genai.Content{{Role: genai.RoleUser, Parts: req.Contents[0].Parts[:1]}},
	})
	require.NoError(t, err)
	return c
}

func TestACachedRequestSendsTheRest(t *testing.T) {
	t.Parallel()
	srv, g := serve(t, geminitest.Options{KeepBodies: true, Handle: func(r geminitest.Request) geminitest.Answer {
		return geminitest.Answer{Text: fmt.Sprintf("%s+%s+%s", r.System, r.Tools[0].FunctionDeclarations[0].Name,
			r.Contents[0].Parts[0].Text+r.Contents[0].Parts[1].Text)}
	}}, "")
	req := prefixed()
	cache := cacheFor(t, g, req)
	require.InDelta(t, 300, time.Until(cache.Expires).Seconds(), 60)
	require.Positive(t, cache.Tokens)
	req.Cached = &model.CachedPrefix{Name: cache.Name, Parts: 1}
	before, err := json.Marshal([]any{req.Contents, req.Config})
	require.NoError(t, err)
	res, fault := modeltest.Collect(t.Context(), g, req)
	require.Nil(t, fault)
	require.Equal(t, "role+read+backgroundbrief", res.Content.Parts[0].Text, "the model sees all of it")
	require.Equal(t, cache.Tokens, res.Usage.Cached)
	after, err := json.Marshal([]any{req.Contents, req.Config})
	require.NoError(t, err)
	require.Equal(t, string(before), string(after), "the request is not modified")

	sent := srv.Requests()[1]
	require.Equal(t, cache.Name, sent.Cache)
	require.NotContains(t, string(sent.Body), "background")
	require.Contains(t, string(sent.Body), `"maxOutputTokens":99`)

	req.Config.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: "ANY"}}
	_, fault = modeltest.Collect(t.Context(), g, req)
	require.Nil(t, fault)
	require.Empty(t, srv.Requests()[2].Cache, "a tool config cannot stand beside a cache: the request goes whole")
}

func TestWholeContentsCanBeCached(t *testing.T) {
	t.Parallel()
	srv, g := serve(t, geminitest.Options{}, `rules: [{steps: [{text: one}, {text: two}]}]`)
	req := prefixed()
	cache, err := g.CreateCache(t.Context(), model.CacheRequest{Model: req.Model, Contents: req.Contents})
	require.NoError(t, err)
	req.Config = nil
	req.Contents = append(req.Contents, genai.NewContentFromText("I see", genai.RoleModel), genai.NewContentFromText("so?", genai.RoleUser))
	req.Cached, req.Meta.Turn = &model.CachedPrefix{Name: cache.Name, Contents: 1}, 2
	res, fault := modeltest.Collect(t.Context(), g, req)
	require.Nil(t, fault, "the first content of what is sent is the model's")
	require.Equal(t, "two", res.Content.Parts[0].Text)
	require.Equal(t, cache.Name, srv.Requests()[1].Cache)
}

func TestALostCacheCostsNothing(t *testing.T) {
	t.Parallel()
	srv, g := serve(t, geminitest.Options{}, `rules: [{task: "*", steps: [{text: done, usage: {prompt: 10, output: 1}}]}]`)
	req := prefixed()
	req.Cached = &model.CachedPrefix{Name: cacheFor(t, g, req).Name, Parts: 1}
	srv.DropCaches()
	_, fault := modeltest.Collect(t.Context(), g, req)
	require.Equal(t, model.CacheRefused, fault.Class, "without New the caller has to see to it")

	var lost []string
	budget := model.NewBudget(1_000_000, 0)
	m := model.New(g, model.Policy{
		Budget:         budget,
		OnCacheRefused: func(name string, err *model.Error) { lost = append(lost, fmt.Sprint(name, " ", err.Status)) },
	})
	res, fault := modeltest.Collect(t.Context(), m, req)
	require.Nil(t, fault)
	require.Equal(t, "done", res.Content.Parts[0].Text)
	require.Equal(t, []string{req.Cached.Name + " 403"}, lost)
	require.Equal(t, 11, budget.Spent())
	log := srv.Requests()
	require.Equal(t, []string{req.Cached.Name, ""}, []string{log[2].Cache, log[3].Cache})
	require.NotNil(t, req.Cached)
}

func TestACacheLostBetweenTriesVoidsWhatWasShown(t *testing.T) {
	t.Parallel()
	sends := 0
	m := modelFunc(func(yield func(model.Event, error) bool) {
		sends++
		if !yield(model.Event{Delta: &genai.Part{Text: fmt.Sprint(sends)}}, nil) {
			return
		}
		if sends == 1 {
			err := model.FromStatus(http.StatusForbidden, nil, []byte("CachedContent not found (or permission denied)"))
			err.Usage.Prompt = 7
			yield(model.Event{}, err)
			return
		}
		yield(model.Event{Result: &model.Result{Content: &genai.Content{}, Finish: "STOP"}}, nil)
	})
	req := prefixed()
	req.Cached = &model.CachedPrefix{Name: "cachedContents/x"}
	var shown []string
	for ev, err := range model.New(m, model.Policy{}).Generate(t.Context(), req) {
		require.NoError(t, err)
		if ev.Delta != nil {
			shown = append(shown, fmt.Sprint(ev.Delta.Text, ev.Restart))
		} else {
			require.Equal(t, 7, ev.Result.Wasted.Prompt)
		}
	}
	require.Equal(t, []string{"1false", "2true"}, shown)
}

func TestRefusalsOfCaches(t *testing.T) {
	t.Parallel()
	cases := []struct {
		status  int
		message string
		want    model.Class
	}{
		{403, "CachedContent not found (or permission denied)", model.CacheRefused},
		{404, "Not found: cached content metadata for 123.", model.CacheRefused},
		{400, "Cache content 123 is expired.", model.CacheRefused},
		{400, "Model used by GenerateContent request (models/a) and CachedContent (models/b) has to be the same.", model.CacheRefused},
		{400, "Cached content is too small. total_token_count=1, min_total_token_count=4096", model.CacheRefused},
		{404, "models/unknown is not found for API version v1beta.", model.Invalid},
		{403, "The caller does not have permission", model.Auth},
		{400, "API key not valid. Please pass a valid API key.", model.Auth},
		{503, "CachedContent is busy", model.Overloaded},
		{429, "CachedContent quota", model.RateLimited},
	}
	for _, c := range cases {
		body := fmt.Appendf(nil, `{"error":{"code":%d,"message":%q}}`, c.status, c.message)
		require.Equal(t, c.want, model.FromStatus(c.status, nil, body).Class, c.message)
	}
}

func TestTheLifeOfACache(t *testing.T) {
	t.Parallel()
	srv, g := serve(t, geminitest.Options{}, `rules: [{steps: [{text: a}]}]`)
	cache := cacheFor(t, g, prefixed())
	longer, err := g.ExtendCache(t.Context(), cache.Name, 2*time.Hour)
	require.NoError(t, err)
	require.Greater(t, longer.Expires.Sub(cache.Expires), time.Hour)
	require.NoError(t, g.DeleteCache(t.Context(), cache.Name))
	require.Empty(t, srv.Caches())
	_, err = g.ExtendCache(t.Context(), cache.Name, time.Hour)
	require.Equal(t, model.CacheRefused, model.AsError(err).Class)
	require.Equal(t, 403, model.AsError(err).Status)
	require.Equal(t, model.CacheRefused, model.AsError(g.DeleteCache(t.Context(), cache.Name)).Class)
}

func TestCacheCallsFailAsAnswersDo(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]model.Class{"429": model.RateLimited, "503": model.Overloaded, "wrong_key": model.Auth} {
		_, g := serve(t, geminitest.Options{CacheFault: fault}, "")
		_, err := g.CreateCache(t.Context(), model.CacheRequest{Model: "m", System: genai.NewContentFromText("x", "")})
		require.Equal(t, want, model.AsError(err).Class)
	}
	_, small := serve(t, geminitest.Options{MinCache: 4096}, "")
	_, err := small.CreateCache(t.Context(), model.CacheRequest{Model: "m", System: genai.NewContentFromText("x", "")})
	require.Equal(t, model.CacheRefused, model.AsError(err).Class)

	ctx, cancel := context.WithCancel(t.Context())
	g := newGemini(t, model.Options{HTTPClient: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		cancel()
		<-r.Context().Done()
		return nil, r.Context().Err()
	})}})
	_, err = g.CreateCache(ctx, model.CacheRequest{Model: "m", System: genai.NewContentFromText("x", "")})
	require.Equal(t, model.Cancelled, model.AsError(err).Class)

	leaky := newGemini(t, model.Options{APIKey: secret, BaseURL: "http://127.0.0.1:1/" + secret})
	_, err = leaky.CreateCache(t.Context(), model.CacheRequest{Model: "m", System: genai.NewContentFromText("x", "")})
	require.Equal(t, model.Unavailable, model.AsError(err).Class)
	require.NotContains(t, fmt.Sprintf("%v %#v", err, err), secret)

	panics := newGemini(t, model.Options{HTTPClient: &http.Client{Transport: roundTrip(
		func(*http.Request) (*http.Response, error) { panic("inside") })}})
	require.Contains(t, panics.DeleteCache(t.Context(), "cachedContents/x").Error(), "inside")
}

func TestBadCachesNeverLeave(t *testing.T) {
	t.Parallel()
	g := serveRaw(t, func(http.ResponseWriter, *http.Request) { panic("something was sent") })
	bad := []model.CacheRequest{
		{Model: "m"},
		{System: genai.NewContentFromText("x", "")},
		{Model: "m", Contents: []*genai.Content{nil}},
		{Model: "m", Tools: []*genai.Tool{nil}},
	}
	for _, req := range bad {
		_, err := g.CreateCache(t.Context(), req)
		require.Equal(t, model.Invalid, model.AsError(err).Class)
	}
	for _, name := range []string{"", "../models", "cachedContents/x?y"} {
		_, err := g.ExtendCache(t.Context(), name, time.Minute)
		require.Equal(t, model.Invalid, model.AsError(err).Class)
		require.Equal(t, model.Invalid, model.AsError(g.DeleteCache(t.Context(), name)).Class)
	}
	cases := map[string]model.CachedPrefix{
		"not the name":         {Parts: 1},
		"not the name of":      {Name: "a/../b"},
		"nothing of the":       {Name: "c", Parts: 2},
		"cannot hold 1":        {Name: "c", Contents: 1},
		"-1 contents":          {Name: "c", Contents: -1},
		"-1 parts: nothing of": {Name: "c", Parts: -1},
	}
	for want, cached := range cases {
		req := prefixed()
		req.Cached = &cached
		_, fault := modeltest.Collect(t.Context(), g, req)
		require.Equal(t, model.Invalid, fault.Class)
		require.Contains(t, fault.Message, want)
	}
	req := prefixed()
	req.Config.CachedContent = "cachedContents/x"
	_, fault := modeltest.Collect(t.Context(), g, req)
	require.Contains(t, fault.Message, "Request.Cached")
}
