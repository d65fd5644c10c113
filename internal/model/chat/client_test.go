package chat

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/genai"

	"divisi/internal/model"
	"divisi/internal/testkit/chattest"
	"divisi/internal/testkit/geminitest"
	"divisi/internal/testkit/modeltest"
)

// A dependency of the Gemini SDK starts a worker when it is loaded and never stops it.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func newClient(t *testing.T, opt Options) *Client {
	t.Helper()
	c, err := New(opt)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func serve(t *testing.T, opt chattest.Options, script string) (*chattest.Server, *Client) {
	t.Helper()
	s, err := geminitest.Parse([]byte(script))
	require.NoError(t, err)
	opt.Script = s
	srv := chattest.Start(t, opt)
	return srv, newClient(t, Options{BaseURL: srv.URL})
}

func TestClientConforms(t *testing.T) {
	t.Parallel()
	for name, style := range map[string]chattest.Style{
		"openai": chattest.OpenAI, "ollama": chattest.Ollama, "gateway": chattest.Gateway,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			modeltest.Conformance(t, func(t *testing.T, script string) model.Model {
				_, c := serve(t, chattest.Options{Style: style}, script)
				return c
			})
		})
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"localhost:11434/v1", "ftp://a/v1", "http:///v1", "http://a b/", "http://a/v1?key=x", "::"} {
		_, err := New(Options{BaseURL: base})
		require.Equal(t, model.Invalid, model.AsError(err).Class, base)
	}
	_, err := New(Options{BaseURL: "http://user:" + secret + "@a/v1"})
	require.Error(t, err)
	require.NotContains(t, err.Error(), secret)
	_, err = New(Options{Key: secret + "\n", KeyEnv: "A_KEY"})
	require.Equal(t, model.Auth, model.AsError(err).Class)
	require.ErrorContains(t, err, "in A_KEY contains a space")
	require.NotContains(t, err.Error(), secret)
}

// The key is in the header and nowhere else; nobody but an address of one's own learns what the call is for.
func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	for base, told := range map[string]string{"": "", "http://gateway.test/prefix/v1/": "7"} {
		var got *http.Request
		var body []byte
		c := newClient(t, Options{BaseURL: base, Key: secret, HTTPClient: &http.Client{Transport: roundTrip(
			func(r *http.Request) (*http.Response, error) {
				got = r
				var err error
				body, err = io.ReadAll(r.Body)
				return respond(200, events(`"content":"hi"|"stop"`)), err
			})}})
		req := modeltest.Ask("t1", "x")
		req.Meta.Turn = 7
		req.Config = &genai.GenerateContentConfig{HTTPOptions: &genai.HTTPOptions{Headers: http.Header{"X-Title": {"mine"}}}}
		_, fault := modeltest.Collect(t.Context(), c, req)
		require.Nil(t, fault)
		require.True(t, strings.HasSuffix(got.URL.String(), "/v1/chat/completions"), got.URL)
		require.NotContains(t, got.URL.String(), "//v1")
		require.Equal(t, "Bearer "+secret, got.Header.Get("Authorization"))
		require.Equal(t, told, got.Header.Get("X-Divisi-Turn"))
		require.Equal(t, "mine", got.Header.Get("X-Title"))
		require.NotContains(t, string(body), secret)
		require.NotContains(t, fmt.Sprintf("%v %+v %#v %v %#v", c, c, c, Options{Key: secret}, Options{Key: secret}), secret)
	}
	var got http.Header
	c := newClient(t, Options{BaseURL: "http://local.test/v1", HTTPClient: &http.Client{Transport: roundTrip(
		func(r *http.Request) (*http.Response, error) {
			got = r.Header
			return respond(401, `{"error":"unauthorized"}`), nil
		})}})
	_, fault := modeltest.Collect(t.Context(), c, modeltest.Ask("t", "x"))
	require.NotContains(t, got, "Authorization")
	require.Equal(t, model.Auth, fault.Class)
	require.Contains(t, fault.Message, "wants a key: name the variable that has it in key_env")
}

func TestKeyIsNeverInAnError(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 400, 401, 402, 404, 429, 500} {
		c := answering(t, status, errorBody("the key "+secret+" is bad", secret, secret), "X-Key", secret)
		_, fault := modeltest.Collect(t.Context(), c, modeltest.Ask("t", "x"))
		require.NotContains(t, fmt.Sprintf("%v %+v %v %q", fault, fault, fault.Err, fault.Quota), secret)
	}
	c := newClient(t, Options{BaseURL: "http://service.test/v1", Key: secret, HTTPClient: &http.Client{Transport: roundTrip(
		func(r *http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("dial with %s", r.Header.Get("Authorization"))
		})}})
	_, fault := modeltest.Collect(t.Context(), c, modeltest.Ask("t", "x"))
	require.Equal(t, model.Unavailable, fault.Class)
	require.NotContains(t, fmt.Sprintf("%v %v", fault, fault.Err), secret)
}

func TestWebPageInPlaceOfAnAnswer(t *testing.T) {
	t.Parallel()
	c := answering(t, 200, "<html>hello</html>", "Content-Type", "text/html; charset=utf-8")
	_, fault := modeltest.Collect(t.Context(), c, modeltest.Ask("t", "x"))
	require.Equal(t, model.Invalid, fault.Class)
	require.Contains(t, fault.Message, "not that of the API")
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	_, fault := modeltest.Collect(t.Context(), newClient(t, Options{BaseURL: "http://" + l.Addr().String()}), modeltest.Ask("t", "x"))
	require.Equal(t, model.Unavailable, fault.Class)
	require.Contains(t, fault.Message, l.Addr().String())
	require.Zero(t, fault.Usage)
}

func TestSilenceIsEnded(t *testing.T) {
	t.Parallel()
	srv, _ := serve(t, chattest.Options{}, `rules: [{task: said, steps: [{fault: hang, text: "one two"}]},
	  {task: silent, steps: [{text: late, delay: 1h}]}]`)
	c := newClient(t, Options{BaseURL: srv.URL, Patience: patient(time.Minute, 30*time.Millisecond)})
	_, fault := modeltest.Collect(t.Context(), c, modeltest.Ask("said", "x"))
	require.Equal(t, model.Stalled, fault.Class)
	require.Positive(t, fault.Usage.Prompt, "what was begun is paid")
	c = newClient(t, Options{BaseURL: srv.URL, Patience: patient(60*time.Millisecond, time.Minute)})
	_, fault = modeltest.Collect(t.Context(), c, modeltest.Ask("silent", "x"))
	require.Equal(t, model.Stalled, fault.Class)
	require.Positive(t, fault.Usage.Prompt, "the request is with the server, which may have done the work")
}

// patient is the patience with every model.
func patient(first, silence time.Duration) func(string) (time.Duration, time.Duration) {
	return func(string) (time.Duration, time.Duration) { return first, silence }
}

// tail is a body whose end comes late, or not at all.
type tail struct {
	io.Reader
	ctx   context.Context
	after time.Duration
	ended bool
}

func (b *tail) Read(p []byte) (int, error) {
	if n, err := b.Reader.Read(p); n > 0 {
		return n, nil
	} else if b.after == 0 {
		return 0, err
	}
	select {
	case <-time.After(b.after):
		b.ended = true
		return 0, io.EOF
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
}

func (b *tail) Close() error { return nil }

// What comes behind the mark of the end is read, because only then the connection is free for the next call; a service that
// leaves the stream open is not waited for.
func TestBehindTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for after, ended := range map[time.Duration]bool{50 * time.Millisecond: true, time.Hour: false} {
			var body *tail
			c := newClient(t, Options{BaseURL: "http://service.test/v1", HTTPClient: &http.Client{Transport: roundTrip(
				func(r *http.Request) (*http.Response, error) {
					resp := respond(200, events(`"content":"hi"|"stop"`, "[DONE]"))
					body = &tail{Reader: resp.Body, ctx: r.Context(), after: after}
					resp.Body = body
					return resp, nil
				})}})
			began := time.Now()
			res, fault := modeltest.Collect(t.Context(), c, modeltest.Ask("t", "x"))
			require.Nil(t, fault)
			require.Equal(t, "hi", res.Content.Parts[0].Text)
			require.Equal(t, ended, body.ended)
			require.Less(t, time.Since(began), time.Second)
		}
	})
}

// How long a service may be silent before its first byte.
func TestPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, Options{BaseURL: "http://service.test/v1", HTTPClient: &http.Client{Transport: roundTrip(
			func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			})}})
		began := time.Now()
		_, fault := modeltest.Collect(t.Context(), c, modeltest.Ask("t", "x"))
		require.Equal(t, model.Stalled, fault.Class)
		require.Equal(t, 5*time.Minute, time.Since(began))
		c = newClient(t, Options{BaseURL: "http://service.test/v1", HTTPClient: &http.Client{Transport: roundTrip(
			func(r *http.Request) (*http.Response, error) {
				resp := respond(200, events(`"content":"hi"`))
				resp.Body = &tail{Reader: resp.Body, ctx: r.Context(), after: 4 * time.Minute}
				return resp, nil
			})}})
		_, fault = modeltest.Collect(t.Context(), c, modeltest.Ask("t", "x"))
		require.Contains(t, fault.Message, "without a finish reason", "a local server may be silent for long")
	})
}

func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	s, err := geminitest.Parse([]byte(`rules: [{task: "*", steps: [{text: hi}]}]`))
	require.NoError(t, err)
	var mu sync.Mutex
	opened := 0
	srv := httptest.NewUnstartedServer(chattest.New(chattest.Options{Script: s}))
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if state == http.StateNew {
			opened++
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	c := newClient(t, Options{BaseURL: srv.URL + chattest.Path})
	for range 4 {
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() { modeltest.Collect(t.Context(), c, modeltest.Ask("t", "x")) })
		}
		wg.Wait()
	}
	mu.Lock()
	defer mu.Unlock()
	require.LessOrEqual(t, opened, 24, "64 calls, 16 at once")
}

// What a service does not take is learnt from its words, once, and the caller sees none of it.
func TestTraitsAreLearnt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ refused, words, takes string }{
		{
			`"max_tokens"`, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
			`"max_completion_tokens":99`,
		},
		{`"stream_options"`, "Unrecognized request argument supplied: stream_options", `"stream":true`},
		{`"tool_choice"`, "No endpoints found that support the provided 'tool_choice' value.", `"name":"read"`},
	} {
		var sent []string
		client := newClient(t, Options{BaseURL: "http://service.test/v1", HTTPClient: &http.Client{Transport: roundTrip(
			func(r *http.Request) (*http.Response, error) {
				body, err := io.ReadAll(r.Body)
				sent = append(sent, string(body))
				if bytes.Contains(body, []byte(c.refused)) {
					return respond(400, errorBody(c.words, "invalid_request_error", "")), err
				}
				return respond(200, events(`"content":"hi"|"stop"`)), err
			})}})
		req := conversation()
		choose(genai.FunctionCallingConfigModeAny, "read")(req.Config)
		for range 2 {
			_, fault := modeltest.Collect(t.Context(), client, req)
			require.Nil(t, fault)
		}
		require.Len(t, sent, 3, "refused once")
		require.NotContains(t, sent[1]+sent[2], c.refused)
		require.Contains(t, sent[2], c.takes)
	}
}

func TestThoughtsGoBackWhereTheyAreWanted(t *testing.T) {
	t.Parallel()
	calls := 0
	c := newClient(t, Options{BaseURL: "http://service.test/v1", HTTPClient: &http.Client{Transport: roundTrip(
		func(r *http.Request) (*http.Response, error) {
			calls++
			if body, err := io.ReadAll(r.Body); err != nil || !bytes.Contains(body, []byte(`"reasoning_content":"hm"`)) {
				return respond(400, errorBody("Missing `reasoning_content` field in the assistant message at message index 2.",
					"invalid_request_error", "")), err
			}
			return respond(200, events(`"content":"hi"|"stop"`)), nil
		})}})
	_, fault := modeltest.Collect(t.Context(), c, conversation())
	require.Nil(t, fault)
	require.Equal(t, 2, calls)
}

// A refusal that nothing can be learnt from, or nothing more, is the caller's.
func TestRefusalIsSentOnce(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]int{"bad": 1, "stream_options and max_completion_tokens": 3} {
		calls := 0
		c := newClient(t, Options{BaseURL: "http://service.test/v1", HTTPClient: &http.Client{Transport: roundTrip(
			func(*http.Request) (*http.Response, error) {
				calls++
				return respond(400, errorBody(words, "", "")), nil
			})}})
		_, fault := modeltest.Collect(t.Context(), c, modeltest.Ask("t", "x"))
		require.Equal(t, model.Invalid, fault.Class)
		require.Equal(t, want, calls)
	}
}

// Many callers may meet the same refusal at once: each sends again, and each is answered.
func TestTraitsAreLearntByMany(t *testing.T) {
	t.Parallel()
	var gate sync.WaitGroup
	gate.Add(8)
	c := newClient(t, Options{BaseURL: "http://service.test/v1", HTTPClient: &http.Client{Transport: roundTrip(
		func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if bytes.Contains(body, []byte("stream_options")) {
				gate.Done()
				gate.Wait()
				return respond(400, errorBody("stream_options is unknown", "", "")), err
			}
			return respond(200, events(`"content":"hi"|"stop"`)), err
		})}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, fault := modeltest.Collect(t.Context(), c, modeltest.Ask("t", "x")); fault != nil {
				t.Errorf("%v", fault)
			}
		})
	}
	wg.Wait()
}

func TestConsumerPanicIsNotSwallowed(t *testing.T) {
	t.Parallel()
	_, c := serve(t, chattest.Options{}, `rules: [{steps: [{text: hi}]}]`)
	require.PanicsWithValue(t, "mine", func() {
		for range c.Generate(t.Context(), modeltest.Ask("t", "x")) {
			panic("mine")
		}
	})
}
