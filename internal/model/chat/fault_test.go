package chat

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/model"
	"divisi/internal/testkit/modeltest"
)

func errorBody(message, kind, code string) string {
	return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":null,"code":%q}}`, message, kind, code)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		body   string
		class  model.Class
		words  string
	}{
		{"openai's shape", 400, errorBody("bad thing", "invalid_request_error", ""), model.Invalid, "bad thing"},
		{"ollama's shape", 500, `{"error":"llama runner process has terminated"}`, model.Unavailable, "llama runner"},
		{"no wrapper", 400, `{"object":"error","message":"bad thing","type":"BadRequestError","code":400}`, model.Invalid, "bad thing"},
		{"detail", 422, `{"detail":[{"msg":"field required"}]}`, model.Invalid, "field required"},
		{"a list", 400, `[{"error":{"message":"bad thing","code":400}}]`, model.Invalid, "bad thing"},
		{"a page", 502, "<html><head><title>502 Bad Gateway</title></head></html>", model.Unavailable, "a web page came: 502 Bad"},
		{"a page without a title", 503, "<!doctype html>", model.Overloaded, "a web page came"},
		{"nothing", 500, "", model.Unavailable, "Internal Server Error"},
		{
			"behind a gateway", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"top_k is wrong"}}}`,
			model.Invalid, "Provider returned error: top_k is wrong",
		},
		{"loading", 503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, model.Overloaded, "Loading"},
		{"overloaded", 529, `{"error":{"message":"overloaded"}}`, model.Overloaded, "overloaded"},
		{"time out", 408, "", model.Unavailable, "Timeout"},
		{"redirect", 307, "", model.Invalid, "redirects"},

		{
			"wrong key", 401, errorBody("Incorrect API key provided", "invalid_request_error", "invalid_api_key"), model.Auth,
			"http://service.test/v1 refuses the key in A_KEY: Incorrect API key",
		},
		{"not allowed", 403, errorBody("Country not supported", "request_forbidden", ""), model.Auth, "Country"},

		{
			"no credit", 429, errorBody("You exceeded your current quota", "insufficient_quota", "insufficient_quota"),
			model.RateLimited, "current quota",
		},
		{"payment", 402, errorBody("Insufficient Balance", "unknown_error", "invalid_request_error"), model.RateLimited, "Balance"},
		{"more than a minute's", 429, errorBody("Request too large for m on tokens per min (TPM): Limit 10, Requested 20.",
			"tokens", "rate_limit_exceeded"), model.TooLong, "too large"},
		{
			"rate", 429, errorBody("Rate limit: too many tokens, exceeds the context", "tokens", "rate_limit_exceeded"),
			model.RateLimited, "too many",
		},

		{"filtered prompt", 400, errorBody("filtered by our content management policy", "", "content_filter"), model.Blocked, "policy"},
		{"moderated", 403, `{"error":{"code":403,"message":"m requires moderation and your input was flagged"}}`, model.Blocked, "flagged"},

		{
			"no model", 404, errorBody(`model "q" not found, try pulling it first`, "api_error", ""), model.Invalid,
			"does not have this model: check its name in models of .divisi/divisi.yaml",
		},
		{"no such model", 404, errorBody("The model `q` does not exist", "", "model_not_found"), model.Invalid, "does not have this model"},
		{"a model's odd name", 400, `{"error":{"message":"q is not a valid model ID","code":400}}`, model.Invalid, "is not a valid"},
		{"wrong path", 404, "404 page not found", model.Invalid, "no /chat/completions at http://service.test/v1: base_url mostly"},
		{"wrong method", 405, "", model.Invalid, "base_url"},

		{"too long: code", 400, errorBody("x", "", "context_length_exceeded"), model.TooLong, "x"},
		{"too long: status", 413, "too large", model.TooLong, "too large"},
		{"too long: llama.cpp", 400, `{"error":{"code":400,"type":"exceed_context_size_error",
		  "message":"request (9412 tokens) exceeds the available context size (8192 tokens), try increasing it"}}`, model.TooLong, "9412"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, fault := modeltest.Collect(t.Context(), answering(t, c.status, c.body), modeltest.Ask("t", "x"))
			require.NotNil(t, fault)
			require.Equal(t, c.class, fault.Class, fault)
			require.Equal(t, c.status, fault.Status)
			require.Contains(t, fault.Message, c.words)
		})
	}
}

// Each is what a service says of a request that does not fit.
func TestManyWordsForTooLong(t *testing.T) {
	t.Parallel()
	for _, words := range []string{
		"This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens.",
		"Your input exceeds the context window of this model. Please adjust your input and try again.",
		"This endpoint's maximum context length is 128000 tokens. However, you requested about 140000 tokens",
		"This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
		"The decoder prompt (length 12345) is longer than the maximum model length of 4096.",
		"Please reduce the length of the messages or completion.",
		"prompt is too long: 213462 tokens > 200000 maximum",
		"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
		"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)",
		"the request exceeds the available context size. try increasing the context size or enable context shift",
		"The number of tokens to keep from the initial prompt is greater than the context length",
		"The model is loaded with context length of only 4096 tokens",
		"invalid params, context window exceeds limit",
		"Invalid request: Your request exceeded model token limit: 262144",
		"prompt token count of 140000 exceeds the limit of 128000",
		"Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
		"Input is too long for requested model.",
		"the input length exceeds the context length",
		"model_context_window_exceeded",
	} {
		f := fault{message: words}
		require.Equal(t, model.TooLong, f.refusal(http.StatusBadRequest, nil).Class, words)
		require.Equal(t, model.TooLong, f.refusal(http.StatusInternalServerError, nil).Class, words)
		require.Equal(t, model.RateLimited, f.refusal(http.StatusTooManyRequests, nil).Class, words)
	}
	for _, words := range []string{
		"max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
		"Tool argument validation failed: input length exceeds 1000 characters", "Invalid value for 'context'",
		"tool_choice is not supported", "Unknown parameter: context",
	} {
		require.Equal(t, model.Invalid, fault{message: words}.refusal(http.StatusBadRequest, nil).Class, words)
	}
}

func TestHowLongToWait(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	header := func(pairs ...string) http.Header { return respond(200, "", pairs...).Header }
	for _, c := range []struct {
		name, message string
		header        http.Header
		want          time.Duration
	}{
		{"nothing", "slow down", nil, 0},
		{"seconds", "", header("Retry-After", "7"), 7 * time.Second},
		{"milliseconds win", "", header("Retry-After", "7", "Retry-After-Ms", "1500"), 1500 * time.Millisecond},
		{"in words", "Please try again in 1m2.5s. Visit", nil, 62500 * time.Millisecond},
		{"in words, short", "Please try again in 20ms.", nil, 20 * time.Millisecond},
		{"the header wins over words", "try again in 9s", header("Retry-After", "2"), 2 * time.Second},
		{"duration", "", header("X-Ratelimit-Reset-Requests", "6m0s"), 6 * time.Minute},
		{"seconds to reset", "", header("X-RateLimit-Reset", "3"), 3 * time.Second},
		{"time of reset", "", header("X-RateLimit-Reset", fmt.Sprint(now.Add(time.Minute).Unix())), time.Minute},
		{"time of reset in ms", "", header("X-RateLimit-Reset", fmt.Sprint(now.Add(time.Minute).UnixMilli())), time.Minute},
		{"past", "", header("X-RateLimit-Reset", fmt.Sprint(now.Add(-time.Minute).Unix())), 0},
		{"the one that is used up", "", header("X-Ratelimit-Reset-Requests", "8s", "X-Ratelimit-Remaining-Requests", "5",
			"X-Ratelimit-Reset-Tokens", "20s", "X-Ratelimit-Remaining-Tokens", "0"), 20 * time.Second},
		{"none used up", "", header("X-Ratelimit-Reset-Requests", "8s", "X-Ratelimit-Reset-Tokens", "20s"), 8 * time.Second},
		{"nonsense", "try again in s", header("X-RateLimit-Reset", "1e300", "Retry-After-Ms", "soon"), 0},
	} {
		f := fault{message: c.message}
		e := model.FromStatus(http.StatusTooManyRequests, f.headers(c.header, now), []byte(c.message))
		require.Equal(t, c.want, e.RetryAfter, c.name)
	}
	body := `{"error":{"message":"Rate limit exceeded: free-models-per-day","code":429,"metadata":{"headers":{
	  "X-RateLimit-Remaining":"0","X-RateLimit-Reset":"` + fmt.Sprint(now.Add(2*time.Minute).UnixMilli()) + `"}}}}`
	require.Equal(t, 2*time.Minute, parseFault([]byte(body)).wait(parseFault([]byte(body)).header, now), "told in the body")
}

// A minute's limit lets the caller wait for as long as the server says; a missing credit is told at once.
func TestARateLimitIsWaitedForAndCreditIsNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers := []*http.Response{
			respond(429, errorBody("Try again in 7s", "requests", "rate_limit_exceeded")),
			respond(200, events(`"content":"hi"|"stop"`)),
			respond(429, errorBody("You exceeded your current quota", "insufficient_quota", "insufficient_quota")),
		}
		c := newClient(t, Options{BaseURL: "http://service.test/v1", HTTPClient: &http.Client{Transport: roundTrip(
			func(*http.Request) (*http.Response, error) {
				next := answers[0]
				answers = answers[1:]
				return next, nil
			})}})
		m := model.New(c, model.Policy{})
		began := time.Now()
		_, fault := modeltest.Collect(t.Context(), m, modeltest.Ask("t", "x"))
		require.Nil(t, fault)
		require.InDelta(t, 7, time.Since(began).Seconds(), 1)
		began = time.Now()
		_, fault = modeltest.Collect(t.Context(), m, modeltest.Ask("t", "x"))
		require.Equal(t, model.RateLimited, fault.Class)
		require.Equal(t, "insufficient_quota", fault.Quota)
		require.Zero(t, time.Since(began))
	})
}

func TestErrorsInsideAStream(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]model.Class{
		`{"error":{"message":"x","code":502}}`:                                                           model.Unavailable,
		`{"error":{"message":"x","code":"503"}}`:                                                         model.Overloaded,
		`{"error":{"message":"x","type":"overloaded_error"}}`:                                            model.Overloaded,
		`{"error":{"message":"x","type":"rate_limit_error"}}`:                                            model.RateLimited,
		`{"error":{"message":"x","type":"authentication_error"}}`:                                        model.Auth,
		`{"error":{"message":"x","type":"invalid_request_error"}}`:                                       model.Invalid,
		`{"error":{"message":"x","code":"content_filter"}}`:                                              model.Blocked,
		`{"error":{"message":"x","code":"context_length_exceeded"}}`:                                     model.TooLong,
		`{"error":"something broke"}`:                                                                    model.Unavailable,
		`{"object":"error","message":"x","type":"NotFoundError"}`:                                        model.Invalid,
		`{"id":"i","choices":[{"delta":{},"finish_reason":"error"}],"error":{"code":429,"message":"x"}}`: model.RateLimited,
	} {
		for _, stream := range []string{body, events(`"content":"h"`, body)} {
			_, fault := modeltest.Collect(t.Context(), answering(t, 200, stream), modeltest.Ask("t", "x"))
			require.NotNil(t, fault, stream)
			require.Equal(t, want, fault.Class, stream)
			require.Equal(t, 1, fault.Usage.Calls)
		}
	}
}

// FuzzRefusal: whatever a service refuses with, the error has a class, a bounded message, a sane delay, and never the key.
func FuzzRefusal(f *testing.F) {
	f.Add(429, errorBody("Try again in 7s", "requests", "rate_limit_exceeded"), "6m0s", "0")
	f.Add(400, `{"error":"the input length exceeds the context length"}`, "", "")
	f.Add(403, `[{"error":{"metadata":{"headers":{"Retry-After":"3"},"raw":{}}}}]`, "1e9", "x")
	f.Add(500, "<title>"+secret+"</title>", "-1s", "5")
	f.Add(404, `{"error":{"message":{"a":[1]},"code":{},"type":false}}`, "9999999999999", "0")
	f.Fuzz(func(t *testing.T, status int, body, reset, remaining string) {
		if status < 300 || status > 599 {
			return
		}
		c := answering(t, status, body, "X-Ratelimit-Reset", reset, "X-Ratelimit-Remaining", remaining, "Retry-After-Ms", reset)
		defer c.Close()
		_, fault := modeltest.Collect(t.Context(), c, modeltest.Ask("t", "x"))
		require.NotNil(t, fault)
		require.NotEmpty(t, fault.Class)
		require.NotContains(t, fault.Error(), secret)
		require.LessOrEqual(t, len(fault.Message), 900)
		require.GreaterOrEqual(t, fault.RetryAfter, time.Duration(0))
		require.False(t, strings.ContainsRune(fault.Message, 0xFFFD) && !strings.ContainsRune(body, 0xFFFD) && isASCII(body))
	})
}

func isASCII(s string) bool { return !strings.ContainsFunc(s, func(r rune) bool { return r > 127 }) }
