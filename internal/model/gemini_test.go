package model_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/internal/model"
	"divisi/internal/testkit/chantest"
	"divisi/internal/testkit/geminitest"
	"divisi/internal/testkit/modeltest"
)

const secret = "AIza-very-secret-key"

// environ is an environment that contains nothing but what the test gives.
func environ(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func newGemini(t *testing.T, opt model.Options) *model.Gemini {
	t.Helper()
	if opt.Getenv == nil {
		opt.Getenv = environ("GEMINI_API_KEY", secret)
	}
	g, err := model.NewGemini(t.Context(), opt)
	require.NoError(t, err)
	t.Cleanup(g.Close)
	return g
}

func serve(t *testing.T, opt geminitest.Options, script string) (*geminitest.Server, *model.Gemini) {
	t.Helper()
	if script != "" {
		s, err := geminitest.Parse([]byte(script))
		require.NoError(t, err)
		opt.Script = s
	}
	srv := geminitest.Start(t, opt)
	return srv, newGemini(t, model.Options{BaseURL: srv.URL})
}

// serveRaw answers every request with a handler of the test's own.
func serveRaw(t *testing.T, h http.HandlerFunc) *model.Gemini {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return newGemini(t, model.Options{BaseURL: srv.URL})
}

func TestGeminiConforms(t *testing.T) {
	t.Parallel()
	for _, noise := range []bool{false, true} {
		t.Run(fmt.Sprintf("noise %v", noise), func(t *testing.T) {
			t.Parallel()
			mk := func(t *testing.T, script string) model.Model {
				t.Helper()
				s, err := geminitest.Parse([]byte(script))
				require.NoError(t, err)
				for i := range s.Rules {
					for j := range s.Rules[i].Steps {
						s.Rules[i].Steps[j].Noise = noise
					}
				}
				_, g := serve(t, geminitest.Options{Script: s}, "")
				return g
			}
			modeltest.Conformance(t, mk)
			modeltest.Signatures(t, mk)
		})
	}
}

func TestMetaHeadersAreSentToACustomBaseURLOnly(t *testing.T) {
	t.Parallel()
	var got http.Header
	record := roundTrip(func(r *http.Request) (*http.Response, error) {
		got = r.Header.Clone()
		return stream(`{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}`), nil
	})
	for base, want := range map[string]string{"": "", "http://gateway.test/prefix": "7"} {
		g := newGemini(t, model.Options{BaseURL: base, HTTPClient: &http.Client{Transport: record}})
		req := modeltest.Ask("t1", "x")
		req.Meta.Turn = 7
		_, err := modeltest.Collect(t.Context(), g, req)
		require.Nil(t, err)
		require.Equal(t, want, got.Get("X-Divisi-Turn"))
		require.Equal(t, want != "", got.Get("X-Divisi-Task") == "t1")
		require.Equal(t, secret, got.Get("X-Goog-Api-Key"))
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func stream(events ...string) *http.Response {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "data: %s\n\n", e)
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(b.String()))}
}

func TestTheKeyNeverShows(t *testing.T) {
	t.Parallel()
	opt := model.Options{APIKey: secret, Getenv: environ("GOOGLE_CLOUD_PROJECT", "p")}
	g := serveRaw(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, err := fmt.Fprintf(w, `{"error":{"message":"API key not valid: %s"}}`, r.Header.Get("X-Goog-Api-Key"))
		if err != nil {
			panic(err)
		}
	})
	_, fault := modeltest.Collect(t.Context(), g, modeltest.Ask("t", "x"))
	require.Equal(t, model.Auth, fault.Class)
	require.Equal(t, 400, fault.Status, "the status is HTTP's: the body had no code")
	var logged bytes.Buffer
	fmt.Fprintf(&logged, "%v %+v %#v %s %v %+v %#v %v %#v", fault, fault, fault, fault.Message, g, g, g, opt, opt)
	require.NotContains(t, logged.String(), secret)

	broken := newGemini(t, model.Options{APIKey: secret, BaseURL: "http://127.0.0.1:1/" + secret})
	_, fault = modeltest.Collect(t.Context(), broken, modeltest.Ask("t", "x"))
	require.Equal(t, model.Unavailable, fault.Class)
	require.NotContains(t, fmt.Sprintf("%v %v %#v", fault, fault.Err, fault), secret)
}

func TestRedirectsDoNotCarryTheKey(t *testing.T) {
	t.Parallel()
	var carried atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { carried.Store(true) }))
	t.Cleanup(other.Close)
	g := serveRaw(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	_, fault := modeltest.Collect(t.Context(), g, modeltest.Ask("t", "x"))
	require.Equal(t, model.Invalid, fault.Class)
	require.Contains(t, fault.Message, "redirects")
	require.False(t, carried.Load())
}

func TestIdleStreamIsEnded(t *testing.T) {
	t.Parallel()
	srv, _ := serve(t, geminitest.Options{}, `rules: [{task: said, steps: [{fault: hang, text: "one two"}]},
	  {task: silent, steps: [{text: late, delay: 1h}]}]`)
	// Each client has one short patience, the one that must end: a slow machine cannot run into the other.
	g := newGemini(t, model.Options{BaseURL: srv.URL, Patience: patient(time.Minute, 30*time.Millisecond)})
	_, fault := modeltest.Collect(t.Context(), g, modeltest.Ask("said", "x"))
	require.Equal(t, model.Stalled, fault.Class)
	require.Positive(t, fault.Usage.Prompt, "what was begun is paid: an estimate stands in")
	g = newGemini(t, model.Options{BaseURL: srv.URL, Patience: patient(60*time.Millisecond, time.Minute)})
	_, fault = modeltest.Collect(t.Context(), g, modeltest.Ask("silent", "x"))
	require.Equal(t, model.Stalled, fault.Class)
	require.Contains(t, fault.Message, "nothing for 60ms (first_byte)")
	require.Positive(t, fault.Usage.Prompt, "the request is with the server, which may have done the work")
}

// patient is the patience with every model.
func patient(first, silence time.Duration) func(string) (time.Duration, time.Duration) {
	return func(string) (time.Duration, time.Duration) { return first, silence }
}

func TestDeadlineIsTheCallers(t *testing.T) {
	t.Parallel()
	_, g := serve(t, geminitest.Options{}, `rules: [{steps: [{fault: hang, text: "one two"}]}]`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, fault := modeltest.Collect(ctx, g, modeltest.Ask("t", "x"))
	require.Equal(t, model.Cancelled, fault.Class)
	require.ErrorIs(t, fault, context.DeadlineExceeded)
}

func TestErrorBodies(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		status int
		body   string
		header string
		class  model.Class
		after  time.Duration
	}{
		{"no code in the body", 429, `{"error":{"message":"slow down"}}`, "7", model.RateLimited, 7 * time.Second},
		{"html", 502, "<html>bad gateway</html>", "", model.Unavailable, 0},
		{"empty", 503, "", "3", model.Overloaded, 3 * time.Second},
		{
			"list", 429, `[{"error":{"code":429,"details":[{"@type":"x/google.rpc.RetryInfo","retryDelay":"33.5s"}]}}]`, "",
			model.RateLimited, 33500 * time.Millisecond,
		},
		{"forbidden", 403, `{"error":{"code":403,"status":"PERMISSION_DENIED"}}`, "", model.Auth, 0},
		{"wrong code in the body", 503, `{"error":{"code":200}}`, "", model.Overloaded, 0},
		{"payload", 413, "too large", "", model.TooLong, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := serveRaw(t, func(w http.ResponseWriter, _ *http.Request) {
				if c.header != "" {
					w.Header().Set("Retry-After", c.header)
				}
				w.WriteHeader(c.status)
				if _, err := io.WriteString(w, c.body); err != nil {
					panic(err)
				}
			})
			_, fault := modeltest.Collect(t.Context(), g, modeltest.Ask("t", "x"))
			require.Equal(t, c.class, fault.Class)
			require.Equal(t, c.status, fault.Status)
			require.Equal(t, c.after, fault.RetryAfter)
		})
	}
}

func TestErrorInAnOKAnswer(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"unary":  "{\n  \"error\": {\n    \"code\": 503,\n    \"status\": \"UNAVAILABLE\"\n  }\n}\n",
		"event":  "event: error\ndata: {\"error\":{\"status\":\"UNAVAILABLE\",\"message\":\"x\"}}\n\n",
		"midway": "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]}\n\n{\"error\":{\"code\":503}}\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := serveRaw(t, func(w http.ResponseWriter, _ *http.Request) {
				if _, err := io.WriteString(w, body); err != nil {
					panic(err)
				}
			})
			_, fault := modeltest.Collect(t.Context(), g, modeltest.Ask("t", "x"))
			require.Equal(t, model.Overloaded, fault.Class)
		})
	}
}

func TestUnmarshalableValuesNeverLeave(t *testing.T) {
	t.Parallel()
	g := serveRaw(t, func(http.ResponseWriter, *http.Request) { panic("something was sent") })
	for _, bad := range []any{math.NaN(), math.Inf(1), make(chan int), func() {}} {
		req := modeltest.Ask("t", "x")
		req.Contents = append(req.Contents, &genai.Content{Role: "model", Parts: []*genai.Part{{
			FunctionCall: &genai.FunctionCall{Name: "f", Args: map[string]any{"x": bad}},
		}}})
		_, fault := modeltest.Collect(t.Context(), g, req)
		require.Equal(t, model.Invalid, fault.Class)
		require.Contains(t, fault.Message, "contents[1].parts[0]")
	}
}

func TestSDKPanicBecomesAnError(t *testing.T) {
	t.Parallel()
	g := newGemini(t, model.Options{HTTPClient: &http.Client{Transport: roundTrip(
		func(*http.Request) (*http.Response, error) { panic("inside") })}})
	_, fault := modeltest.Collect(t.Context(), g, modeltest.Ask("t", "x"))
	require.Equal(t, model.Invalid, fault.Class)
	require.Contains(t, fault.Message, "inside")
}

func TestConsumerPanicIsNotSwallowed(t *testing.T) {
	t.Parallel()
	_, g := serve(t, geminitest.Options{}, `rules: [{steps: [{text: hi}]}]`)
	require.PanicsWithValue(t, "mine", func() {
		for range g.Generate(t.Context(), modeltest.Ask("t", "x")) {
			panic("mine")
		}
	})
}

func TestInvalidUTF8IsVisible(t *testing.T) {
	t.Parallel()
	srv, g := serve(t, geminitest.Options{KeepBodies: true}, `rules: [{steps: [{text: hi}]}]`)
	_, fault := modeltest.Collect(t.Context(), g, modeltest.Ask("t", "caf\xe9 <ok>"))
	require.Nil(t, fault)
	require.Contains(t, string(srv.Requests()[0].Body), `caf\\xe9 `)
}

func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	s, err := geminitest.Parse([]byte(`rules: [{task: "*", steps: [{text: hi}]}]`))
	require.NoError(t, err)
	api := geminitest.New(geminitest.Options{Script: s})
	var mu sync.Mutex
	opened := 0
	srv := httptest.NewUnstartedServer(api)
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if state == http.StateNew {
			opened++
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	g := newGemini(t, model.Options{BaseURL: srv.URL})
	for range 4 {
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() { modeltest.Collect(t.Context(), g, modeltest.Ask("t", "x")) })
		}
		wg.Wait()
	}
	mu.Lock()
	defer mu.Unlock()
	require.LessOrEqual(t, opened, 24, "64 calls, 16 at once")
}

// The SDK's log lines would run through a terminal display. This test owns the process's logger, so it is not parallel.
func TestStandardLogStaysSilent(t *testing.T) {
	var logged bytes.Buffer
	before := log.Writer()
	log.SetOutput(&logged)
	defer log.SetOutput(before)
	for _, fault := range []string{"cut", "clean_cut", "malformed_json", "503", "error"} {
		_, g := serve(t, geminitest.Options{}, fmt.Sprintf("rules: [{steps: [{fault: %q}]}]", fault))
		_, err := modeltest.Collect(t.Context(), g, modeltest.Ask("t", "x"))
		require.NotNil(t, err)
	}
	require.Empty(t, logged.String())
}

// One encoder is enough for many calls under way: its place is free as soon as a request is on the wire.
func TestEncodersAreFreedOnceSent(t *testing.T) {
	t.Parallel()
	const calls = 3
	inside := make(chan struct{}, calls)
	goOn := make(chan struct{})
	g := newGemini(t, model.Options{Encoders: 1, HTTPClient: &http.Client{Transport: roundTrip(
		func(*http.Request) (*http.Response, error) {
			inside <- struct{}{}
			<-goOn
			return stream(`{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}`), nil
		})}})
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() { modeltest.Collect(t.Context(), g, modeltest.Ask("t", "x")) })
	}
	for range calls {
		chantest.Next(t, inside)
	}
	close(goOn)
	wg.Wait()
	bad := modeltest.Ask("t", "x")
	bad.Model = "no/such/../thing"
	_, fault := modeltest.Collect(t.Context(), g, bad)
	require.Equal(t, model.Invalid, fault.Class)
	_, fault = modeltest.Collect(t.Context(), g, modeltest.Ask("t", "x"))
	require.Nil(t, fault, "a call that was never sent gives its place back too")
}
