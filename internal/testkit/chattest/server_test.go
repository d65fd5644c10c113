package chattest

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"divisi/internal/testkit/geminitest"
)

// A dependency of the SDK, whose types are used here, starts a worker when it is loaded and never stops it.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func start(t *testing.T, opt Options, script string) *Server {
	t.Helper()
	s, err := geminitest.Parse([]byte(script))
	require.NoError(t, err)
	opt.Script, opt.Lenient = s, true
	return Start(t, opt)
}

// post sends a body and returns status and text.
func post(t *testing.T, url, body string, headers ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode, string(text)
}

const (
	user = `{"role":"user","content":"Task: t1\nhello"}`
	asks = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},` +
		`{"id":"b","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]}`
	toolA = `{"role":"tool","tool_call_id":"a","content":"A"}`
	toolB = `{"role":"tool","tool_call_id":"b","content":"B"}`
)

func conversation(messages ...string) string {
	return `{"model":"m","stream":true,"messages":[` + strings.Join(messages, ",") + `]}`
}

func TestStrict(t *testing.T) {
	t.Parallel()
	const tools = `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],`
	with := func(fields string) string {
		return strings.Replace(conversation(user), `{"model"`, "{"+fields+`"model"`, 1)
	}
	for want, body := range map[string]string{
		"":                                           conversation(`{"role":"system","content":"s"}`, user, asks, toolA, toolB, `{"role":"user","content":"go on"}`),
		"unknown field":                              with(`"top_k":1,`),
		"reasoning_content":                          conversation(user, `{"role":"assistant","content":"x","reasoning_content":"t"}`, user),
		"more than one document":                     conversation(user) + "{}",
		"provide a model":                            `{"stream":true,"messages":[` + user + `]}`,
		"only streams":                               `{"model":"m","messages":[` + user + `]}`,
		"exclude each other":                         with(`"max_tokens":1,"max_completion_tokens":1,`),
		"invalid name":                               with(`"tools":[{"type":"function","function":{"name":"a.b","parameters":{"type":"object"}}}],`),
		"no schema of type object":                   with(`"tools":[{"type":"function","function":{"name":"f"}}],`),
		"only allowed when tools":                    with(`"tool_choice":"auto",`),
		`unknown "some"`:                             with(tools + `"tool_choice":"some",`),
		"names no declared function":                 with(tools + `"tool_choice":{"type":"function","function":{"name":"g"}},`),
		`role "system" does not follow "user"`:       conversation(user, `{"role":"system","content":"s"}`),
		`role "user" does not follow "user"`:         conversation(user, user),
		`role "assistant" does not follow ""`:        conversation(asks, toolA, toolB),
		"are not answered":                           conversation(user, asks, user),
		`"b" does not answer the next call of [a b]`: conversation(user, asks, toolB, toolA),
		`role "tool" does not follow "user"`:         conversation(user, toolA),
		"was there before":                           conversation(user, asks, toolA, toolB, strings.ReplaceAll(asks, `"b"`, `"c"`)),
		"content is null":                            conversation(`{"role":"user","content":null}`),
		"leaves nothing to answer":                   conversation(user, `{"role":"assistant","content":"x"}`),
		"arguments that are an object":               conversation(user, strings.Replace(asks, `"{}"`, `"[]"`, 1), toolA, toolB),
		"a field of another role":                    conversation(`{"role":"user","content":"x","tool_call_id":"a"}`),
		"no rule answers":                            conversation(`{"role":"user","content":"Task: other"}`),
	} {
		s := start(t, Options{}, `rules: [{task: t1, repeat: true, steps: [{text: hi}]}]`)
		status, text := post(t, s.URL+"/chat/completions", body)
		if want == "" {
			require.Equal(t, 200, status, text)
			require.Empty(t, s.Violations())
			continue
		}
		require.Equal(t, 400, status, want)
		require.Contains(t, strings.ReplaceAll(text, `\"`, `"`), want)
		require.Len(t, s.Violations(), 1)
	}
}

func TestOnTheWire(t *testing.T) {
	t.Parallel()
	script := `rules: [{task: t1, steps: [{thought: hm, text: ab, chunk: 1, calls: [{name: f, args: {x: 1}}],
	  usage: {prompt: 5, output: 2, thoughts: 1}}]}]`
	body := strings.Replace(conversation(user), `"stream":true`, `"stream":true,"stream_options":{"include_usage":true}`, 1)
	for style, want := range map[Style][]string{
		OpenAI:  {`"reasoning_content":"h"`, `"index":0,"type"`, `"arguments":"{\"x\":"`, `"arguments":"1}"`},
		Ollama:  {`"reasoning":"h"`, `"index":0,"type"`, `"arguments":"{\"x\":1}"`},
		Gateway: {": PROCESSING\r\n", "\r\ndata:{", `"arguments":{"x":1}`},
	} {
		s := start(t, Options{Style: style}, script)
		status, text := post(t, s.URL+"/chat/completions", body)
		require.Equal(t, 200, status)
		for _, w := range append(want, `"content":"a"`, `"content":"b"`, `"finish_reason":"tool_calls"`, `"completion_tokens":3`,
			`"reasoning_tokens":1`, "[DONE]") {
			require.Contains(t, text, w)
		}
	}
	s := start(t, Options{Keys: []string{"k"}}, script)
	status, text := post(t, s.URL+"/chat/completions", conversation(user), "Authorization", "Bearer wrong")
	require.Equal(t, 401, status)
	require.Contains(t, text, "invalid_api_key")
	status, text = post(t, s.URL+"/chat/completions", conversation(user), "Authorization", "Bearer k")
	require.Equal(t, 200, status)
	require.NotContains(t, text, "usage", "it was not asked for")
	status, _ = post(t, s.URL+"/models", "")
	require.Equal(t, 404, status)
	require.Empty(t, s.Violations())
	require.Equal(t, "t1", s.Requests()[0].Task)
}
