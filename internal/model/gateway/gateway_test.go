package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/model"
	"divisi/internal/model/gateway"
	"divisi/internal/spec"
)

const (
	key   = "sk-the-real-key-of-the-service"
	token = "token-of-one-attempt"
)

// asked is one request in the words of a form, and what its service answers.
type asked struct {
	path, body, header string
	stream             []string
	whole              string
	usage              spec.Usage
	tier               string
}

var asks = map[string]asked{
	spec.GatewayAnthropic: {
		path: "/v1/messages", body: `{"model":"claude-x","max_tokens":100,"stream":true,"messages":[]}`, header: "X-Api-Key",
		stream: []string{
			`{"type":"message_start","message":{"usage":{"input_tokens":10,"cache_read_input_tokens":30,"cache_creation_input_tokens":5,"cache_creation":{"ephemeral_5m_input_tokens":3,"ephemeral_1h_input_tokens":2},"service_tier":"standard","speed":"fast","output_tokens":1}}}`,
			`{"type":"content_block_delta","delta":{"text":"hi"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}`,
		},
		whole: `{"type":"message","usage":{"input_tokens":10,"cache_read_input_tokens":30,"cache_creation_input_tokens":5,"cache_creation":{"ephemeral_5m_input_tokens":3,"ephemeral_1h_input_tokens":2},"service_tier":"standard","speed":"fast","output_tokens":7}}`,
		usage: spec.Usage{Calls: 1, Prompt: 45, Cached: 30, Written: 5, WrittenHour: 2, Output: 7}, tier: "fast",
	},
	spec.GatewayOpenAI: {
		path: "/v1/responses", body: `{"model":"gpt-x","max_output_tokens":100,"stream":true}`, header: "Authorization",
		stream: []string{
			`{"type":"response.output_text.delta","delta":"hi"}`,
			`{"type":"response.completed","response":{"service_tier":"priority","usage":{"input_tokens":45,"input_tokens_details":{"cached_tokens":30,"cache_write_tokens":4},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":2}}}}`,
		},
		whole: `{"object":"chat.completion","service_tier":"priority","usage":{"prompt_tokens":45,"prompt_tokens_details":{"cached_tokens":30,"cache_write_tokens":4},"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":2}}}`,
		usage: spec.Usage{Calls: 1, Prompt: 45, Cached: 30, Output: 7, Thoughts: 2, Written: 4}, tier: "priority",
	},
	spec.GatewayGemini: {
		path: "/v1beta/models/gemini-x:streamGenerateContent", body: `{"generationConfig":{"maxOutputTokens":100}}`, header: "X-Goog-Api-Key",
		stream: []string{
			`{"candidates":[{"content":{"parts":[{"text":"h"}]}}],"usageMetadata":{"promptTokenCount":45,"candidatesTokenCount":1}}`,
			`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":45,"cachedContentTokenCount":30,"candidatesTokenCount":7,"thoughtsTokenCount":2,"serviceTier":"flex"}}`,
		},
		whole: `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":45,"cachedContentTokenCount":30,"candidatesTokenCount":7,"thoughtsTokenCount":2,"serviceTier":"flex"}}`,
		usage: spec.Usage{Calls: 1, Prompt: 45, Cached: 30, Output: 7, Thoughts: 2}, tier: "flex",
	},
}

func events(all []string) string {
	var b strings.Builder
	for _, e := range all {
		fmt.Fprintf(&b, "event: x\ndata: %s\n\n", e)
	}
	return b.String()
}

// bench is a gateway before a service that a test scripts.
type bench struct {
	*testing.T

	budget  *model.Budget
	limit   *model.RateLimit
	door    *httptest.Server
	mu      sync.Mutex
	uses    []gateway.Use
	waits   []spec.Wait
	refused []model.Class
	begun   []gateway.Use
	unnoted error
	service *httptest.Server
	why     []string
	header  http.Header
}

func newBench(t *testing.T, s gateway.Service, budget *model.Budget, serve http.HandlerFunc) *bench {
	t.Helper()
	upstream := httptest.NewServer(serve)
	t.Cleanup(upstream.Close)
	s.Base, s.Key = upstream.URL, key
	b := &bench{T: t, service: upstream, budget: budget, limit: model.NewRateLimit(nil)}
	g, err := gateway.New(s, budget, b.limit)
	require.NoError(t, err)
	t.Cleanup(g.Close)
	b.door = httptest.NewServer(g.For(gateway.Attempt{
		Token: token,
		Begin: func(reserved gateway.Use) (func(gateway.Use), error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.begun = append(b.begun, reserved)
			return func(u gateway.Use) {
				b.mu.Lock()
				defer b.mu.Unlock()
				if u.Usage.Calls > 0 {
					b.uses = append(b.uses, u)
				}
			}, b.unnoted
		},
		Wait: func(w spec.Wait) { b.mu.Lock(); defer b.mu.Unlock(); b.waits = append(b.waits, w) },
		Refused: func(e *model.Error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.refused, b.why = append(b.refused, e.Class), append(b.why, e.Error())
		},
	}))
	t.Cleanup(b.door.Close)
	return b
}

// ask sends a request with a token.
func (b *bench) ask(ctx context.Context, a asked, token string) (status int, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.door.URL+a.path, strings.NewReader(a.body))
	require.NoError(b, err)
	if token != "" && a.header == "Authorization" {
		token = "Bearer " + token
	}
	req.Header.Set(a.header, token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b.mu.Lock()
	b.header = resp.Header
	b.mu.Unlock()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

func (b *bench) used() []gateway.Use {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]gateway.Use(nil), b.uses...)
}

func TestAnAnswerIsPassedOnAndItsUseRead(t *testing.T) {
	t.Parallel()
	for name, a := range asks {
		for kind, answer := range map[string]string{"stream": events(a.stream), "whole": a.whole} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, gateway.Service{Form: name}, model.NewBudget(spec.Tokens(1_000_000), 0, nil), func(w http.ResponseWriter, r *http.Request) {
					got, err := io.ReadAll(r.Body)
					if err != nil || string(got) != a.body || strings.TrimPrefix(r.Header.Get(a.header), "Bearer ") != key {
						http.Error(w, "not as it was sent", http.StatusBadRequest)
						return
					}
					if kind == "stream" {
						w.Header().Set("Content-Type", "text/event-stream")
					}
					_, _ = io.WriteString(w, answer)
				})
				status, body, err := b.ask(t.Context(), a, token)
				require.NoError(t, err)
				require.Equal(t, http.StatusOK, status, body)
				require.Equal(t, answer, body)
				uses := b.used()
				require.Len(t, uses, 1)
				require.Equal(t, a.usage, uses[0].Usage)
				require.Equal(t, a.tier, uses[0].Tier)
				require.False(t, uses[0].Estimated)
			})
		}
	}
}

func TestWhatIsNotPassedOn(t *testing.T) {
	t.Parallel()
	a := asks[spec.GatewayAnthropic]
	for name, c := range map[string]struct {
		path, body, token, says string
		status                  int
	}{
		"another token":  {token: "other", status: http.StatusUnauthorized, says: "not that of this attempt"},
		"no token":       {token: "", status: http.StatusUnauthorized, says: "not that of this attempt"},
		"another path":   {path: "/v1/files", status: http.StatusNotFound, says: "passes calls of models on"},
		"a way up":       {path: "/v1/models/../files", status: http.StatusNotFound, says: "passes calls of models on"},
		"another model":  {body: `{"model":"claude-dear","max_tokens":1}`, status: http.StatusNotFound, says: `allows no model "claude-dear"`},
		"no model":       {body: `{"max_tokens":1}`, status: http.StatusNotFound, says: `allows no model ""`},
		"no JSON":        {body: `{`, status: http.StatusNotFound, says: "passes calls of models on"},
		"two models":     {body: `{"model":"claude-x","max_tokens":1,"model":"claude-dear"}`, status: http.StatusNotFound, says: "passes calls of models on"},
		"in two letters": {body: `{"model":"claude-dear","max_tokens":1,"Model":"claude-x"}`, status: http.StatusNotFound, says: "passes calls of models on"},
		"escaped":        {body: `{"model":"claude-x","mod\u0065l":"claude-dear"}`, status: http.StatusNotFound, says: "passes calls of models on"},
		"two bounds":     {body: `{"model":"claude-x","max_tokens":1,"max_tokens":99999}`, status: http.StatusNotFound, says: "passes calls of models on"},
		"two objects":    {body: `{"model":"claude-x","max_tokens":1}{"model":"claude-dear"}`, status: http.StatusNotFound, says: "passes calls of models on"},
		"a list":         {body: `[{"model":"claude-x","max_tokens":1}]`, status: http.StatusNotFound, says: "passes calls of models on"},
		"too many":       {body: `{"model":"claude-x","max_tokens":99999999999}`, status: http.StatusNotFound, says: "no answer has 99999999999 tokens"},
		"less than none": {body: `{"model":"claude-x","max_tokens":-5}`, status: http.StatusNotFound, says: "no answer has -5 tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var came atomic.Int32
			b := newBench(t, gateway.Service{Form: spec.GatewayAnthropic, Models: []string{"claude-x"}}, nil,
				func(http.ResponseWriter, *http.Request) { came.Add(1) })
			ask := asked{path: a.path, body: a.body, header: a.header}
			if c.path != "" {
				ask.path = c.path
			}
			if c.body != "" {
				ask.body = c.body
			}
			if c.status != http.StatusUnauthorized {
				c.token = token
			}
			status, body, err := b.ask(t.Context(), ask, c.token)
			require.NoError(t, err)
			require.Equal(t, c.status, status)
			require.Contains(t, body, strings.ReplaceAll(c.says, `"`, `\"`))
			require.Zero(t, came.Load())
			require.Empty(t, b.used())
		})
	}
}

// A service, or a program between, may repeat the key that came: no program of an attempt gets to see it.
func TestAServiceThatTellsTheKey(t *testing.T) {
	t.Parallel()
	for status, answer := range map[int]string{
		http.StatusUnauthorized: "Incorrect API key provided", http.StatusBadRequest: "your key " + key + " is of another project",
		http.StatusFound: "",
	} {
		b := newBench(t, gateway.Service{Form: spec.GatewayOpenAI}, nil, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://elsewhere.example/?key="+key)
			w.Header().Set("Set-Cookie", key)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, answer)
		})
		a := asks[spec.GatewayOpenAI]
		_, body, err := b.ask(t.Context(), a, token)
		require.NoError(t, err)
		require.NotContains(t, body, key)
		require.Contains(t, body, "Divisi: ")
	}
}

// A 429 that ends soon is waited for by all calls; the program sees none of it.
func TestARateLimitIsWaitedFor(t *testing.T) {
	t.Parallel()
	var came atomic.Int32
	a := asks[spec.GatewayGemini]
	b := newBench(t, gateway.Service{Form: spec.GatewayGemini}, nil, func(w http.ResponseWriter, _ *http.Request) {
		if came.Add(1) == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(w, a.whole)
	})
	status, body, err := b.ask(t.Context(), a, token)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, body)
	require.Equal(t, int32(2), came.Load())
	require.Len(t, b.used(), 1)
	require.NotEmpty(t, b.waits)
}

// A quota of a day is passed on, and the model is not asked again.
func TestAQuotaOfADayIsPassedOn(t *testing.T) {
	t.Parallel()
	a := asks[spec.GatewayAnthropic]
	b := newBench(t, gateway.Service{Form: spec.GatewayAnthropic}, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7200")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"rate_limit_error","message":"daily"}}`)
	})
	status, body, err := b.ask(t.Context(), a, token)
	require.NoError(t, err)
	require.Equal(t, http.StatusTooManyRequests, status)
	require.Contains(t, body, "daily")
	require.Empty(t, b.used())
	require.Len(t, b.limit.Limits(), 1)
	require.Equal(t, []model.Class{model.RateLimited}, b.refused)
}

// A stream that breaks off counts what was reserved, and reaches the program as broken.
func TestABrokenStreamCountsItsReservation(t *testing.T) {
	t.Parallel()
	a := asks[spec.GatewayAnthropic]
	budget := model.NewBudget(spec.Tokens(1_000), 0, nil)
	b := newBench(t, gateway.Service{Form: spec.GatewayAnthropic}, budget, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, events(a.stream[:2]))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	_, _, err := b.ask(t.Context(), a, token)
	require.Error(t, err)
	require.Eventually(t, func() bool { return len(b.used()) == 1 }, 5*time.Second, time.Millisecond)
	use := b.used()[0]
	require.True(t, use.Estimated)
	require.Equal(t, spec.Usage{Calls: 1, Prompt: len(a.body), Cached: 30, Written: 5, WrittenHour: 2, Output: 100}, use.Usage)
}

// 64 clients, some of them breaking off and some answers lying, never take more than the budget, and what does not fit is
// refused in words that their programs do not try again.
func TestNothingAboveTheBudget(t *testing.T) {
	t.Parallel()
	const limit = 5_000
	budget := model.NewBudget(spec.Tokens(limit), 0, nil)
	a := asks[spec.GatewayAnthropic]
	b := newBench(t, gateway.Service{Form: spec.GatewayAnthropic}, budget, func(w http.ResponseWriter, _ *http.Request) {
		switch rand.N(4) {
		case 0:
			_, _ = io.WriteString(w, events(a.stream[:1]))
		case 1: // less later, and less than none
			_, _ = io.WriteString(w, events(a.stream)+events([]string{`{"type":"message_delta","usage":{"output_tokens":-99}}`}))
		default:
			_, _ = io.WriteString(w, events(a.stream))
		}
	})
	var refused atomic.Int32
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for range 5 {
				status, body, err := b.ask(t.Context(), a, token)
				if err != nil {
					continue
				}
				if status == http.StatusForbidden {
					refused.Add(1)
					if !json.Valid([]byte(body)) || !strings.Contains(body, "the budget of the run allows no further call") {
						t.Errorf("the refusal reads %s", body)
					}
				}
			}
		})
	}
	all.Wait()
	spent := 0
	for _, u := range b.used() {
		spent += u.Usage.Total()
	}
	require.LessOrEqual(t, spent, limit)
	require.Positive(t, refused.Load())
	require.EqualValues(t, spent, budget.Standing().Spent)
}

// A call that wants several answers reserves them all.
func TestSeveralAnswersAreReserved(t *testing.T) {
	t.Parallel()
	a := asks[spec.GatewayOpenAI]
	a.path, a.body = "/v1/chat/completions", `{"model":"gpt-x","max_tokens":100,"n":8}`
	b := newBench(t, gateway.Service{Form: spec.GatewayOpenAI}, model.NewBudget(spec.Tokens(500), 0, nil), func(http.ResponseWriter, *http.Request) {})
	status, body, err := b.ask(t.Context(), a, token)
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, status, body)
	a.body = `{"model":"gpt-x","n":-1}`
	_, body, err = b.ask(t.Context(), a, token)
	require.NoError(t, err)
	require.Contains(t, body, "no call has -1 answers")
}

func TestEnviron(t *testing.T) {
	t.Parallel()
	g, err := gateway.New(gateway.Service{Form: spec.GatewayOpenAI, Key: key}, nil, model.NewRateLimit(nil))
	require.NoError(t, err)
	require.Equal(t, []string{
		"OPENAI_BASE_URL=http://127.0.0.1:61080/v1", "OPENAI_API_KEY=" + token, "CODEX_API_KEY=" + token,
	}, g.Environ("http://127.0.0.1:61080", token))
	_, err = gateway.New(gateway.Service{Form: "other"}, nil, model.NewRateLimit(nil))
	require.ErrorContains(t, err, `unknown form "other" of a model's service: it is one of anthropic, gemini, openai`)
	_, err = gateway.New(gateway.Service{Form: spec.GatewayOpenAI, Base: "ftp://x"}, nil, model.NewRateLimit(nil))
	require.ErrorContains(t, err, "no http address")
}

// Only the fields that a path knows bound its answer, in each form in which the service reads them.
func TestOnlyBoundsThatHoldAreReserved(t *testing.T) {
	t.Parallel()
	for path, c := range map[string]struct{ form, body string }{
		"/v1/chat/completions":                       {spec.GatewayOpenAI, `{"model":"gpt-x","max_output_tokens":1,"max_tokens":9000}`},
		"/v1/chat/completions?":                      {spec.GatewayOpenAI, `{"model":"gpt-x","max_completion_tokens":9000,"max_tokens":1}`},
		"/v1/responses":                              {spec.GatewayOpenAI, `{"model":"gpt-x","max_output_tokens":null,"max_tokens":1}`},
		"/v1beta/models/gemini-x:generateContent":    {spec.GatewayGemini, `{"generation_config":{"max_output_tokens":9000}}`},
		"/v1beta/models/gemini-x:generateContent?a":  {spec.GatewayGemini, `{"generationConfig":{"maxOutputTokens":1,"candidate_count":100}}`},
		"/v1beta/models/gemini-x:generateContent?b":  {spec.GatewayGemini, `{"generationConfig":{"maxOutputTokens":1},"generation_config":{"maxOutputTokens":9000}}`},
		"/v1beta/models/gemini-x:generateContent?c":  {spec.GatewayGemini, `{"generationConfig":{"maxOutputTokens":1,"max_output_tokens":9000}}`},
		"/v1beta/models/gemini-x:generateContent?d=": {spec.GatewayGemini, `{"generationConfig":[{"maxOutputTokens":1}]}`},
	} {
		b := newBench(t, gateway.Service{Form: c.form}, model.NewBudget(spec.Tokens(100), 0, nil), func(http.ResponseWriter, *http.Request) {
			t.Errorf("%s %s was passed on", path, c.body)
		})
		_, _, err := b.ask(t.Context(), asked{path: path, body: c.body, header: asks[c.form].header}, token)
		require.NoError(t, err)
		require.Len(t, b.refused, 1, path)
	}
}

// A call is noted before it is sent, with what it reserved: where it cannot be, it is not sent.
func TestACallIsNotedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	a, budget := asks[spec.GatewayAnthropic], model.NewBudget(spec.Tokens(1_000), 0, nil)
	var came atomic.Int32
	b := newBench(t, gateway.Service{Form: spec.GatewayAnthropic}, budget, func(w http.ResponseWriter, _ *http.Request) {
		came.Add(1)
		_, _ = io.WriteString(w, a.whole)
	})
	_, _, err := b.ask(t.Context(), a, token)
	require.NoError(t, err)
	require.Len(t, b.begun, 1)
	require.Equal(t, spec.Usage{Calls: 1, Prompt: len(a.body), Output: 100}, b.begun[0].Usage)
	require.Equal(t, len(a.body), b.begun[0].Bytes)

	b.unnoted = errors.New("no space left on device")
	status, body, err := b.ask(t.Context(), a, token)
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, status)
	require.Contains(t, body, "could not be noted, and is not made")
	require.Equal(t, int32(1), came.Load())
	_, refused := budget.Reserve(t.Context(), model.Need{Output: 1_000 - a.usage.Total()}, nil)
	require.Nil(t, refused, "nothing else is spent or reserved")
}
