package chat

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/modeltest"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// respond is a response with headers in pairs.
func respond(status int, body string, headers ...string) *http.Response {
	h := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

// answering is a client whose service always answers alike.
func answering(t testing.TB, status int, body string, headers ...string) *Client {
	t.Helper()
	c, err := New(Options{BaseURL: "http://service.test/v1", Key: secret, KeyEnv: "A_KEY", HTTPClient: &http.Client{
		Transport: roundTrip(func(*http.Request) (*http.Response, error) { return respond(status, body, headers...), nil }),
	}})
	require.NoError(t, err)
	return c
}

const secret = "sk-very-secret"

// events writes a stream: choices' content, one delta an event.
func events(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		if !strings.HasPrefix(l, "{") && l != "[DONE]" {
			delta, finish, _ := strings.Cut(l, "|")
			if finish == "" {
				finish = "null"
			}
			l = `{"id":"i","model":"m","choices":[{"index":0,"delta":{` + delta + `},"finish_reason":` + finish + `}]}`
		}
		b.WriteString("data: " + l + "\n\n")
	}
	return b.String()
}

func TestStreams(t *testing.T) {
	t.Parallel()
	hi := []*genai.Part{{Text: "hi"}}
	two := []*genai.Part{called("a", "f", map[string]any{"x": 1.0}), called("b", "g", map[string]any{})}
	for _, c := range []struct {
		name, stream string
		parts        []*genai.Part
		class        model.Class // empty: parts
		words        string
	}{
		{"text", events(`"content":"h"`, `"content":"i"`, `|"stop"`, "[DONE]"), hi, "", ""},
		{"no end mark", events(`"content":"hi"|"stop"`), hi, "", ""},
		{"no finish reason", events(`"content":"hi"`, "[DONE]"), hi, "", ""},
		{"neither", events(`"content":"hi"`), nil, model.Truncated, "without a finish reason"},
		{"nothing", "", nil, model.Truncated, "without a finish reason"},
		{"the end mark alone", events("[DONE]"), nil, model.Truncated, "empty"},
		{"empty answer", events(`"content":""|"stop"`, "[DONE]"), nil, model.Truncated, "empty"},
		{"no choices", events(`{"choices":[]}`, "[DONE]"), nil, model.Truncated, "empty"},
		{"not JSON", events(`{"choices`), nil, model.Truncated, "could not be read"},
		{"not JSON, but whole already", events(`"content":"hi"|"stop"`, `{"usage`), hi, "", ""},
		{"after the end mark", events(`"content":"hi"|"stop"`, "[DONE]", `{"choi`), hi, "", ""},
		{"another choice", events(`{"choices":[{"index":1,"delta":{"content":"no"}}]}`, `"content":"hi"|"stop"`), hi, "", ""},
		{
			"both names of thoughts", events(`"reasoning":"t","reasoning_content":"t"`, `"content":"hi"|"stop"`),
			[]*genai.Part{{Text: "t", Thought: true}, {Text: "hi"}},
			"", "",
		},
		{
			"thoughts in turns", events(`"reasoning":"t"`, `"content":"hi"`, `"reasoning":"u"|"stop"`),
			[]*genai.Part{{Text: "t", Thought: true}, {Text: "hi"}, {Text: "u", Thought: true}},
			"", "",
		},
		{"text in parts", events(`"content":[{"type":"text","text":"h"},{"type":"text","text":"i"}]|"stop"`), hi, "", ""},
		{"a refusal in words", events(`"content":null,"refusal":"hi"|"stop"`), hi, "", ""},
		{"not streamed", `{"id":"i","choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`, hi, "", ""},
		{"a reason from the future", events(`"content":"hi"|"later"`), hi, "", ""},
		{"given up", events(`"content":"hi"|"error"`), nil, model.Truncated, "OTHER"},
		{"filtered", events(`"content":"hi"|"content_filter"`), nil, model.Blocked, "withheld"},
		{"thoughts alone at the limit", events(`|"length"`), nil, model.Truncated, "output limit"},

		{"calls in pieces", events(
			`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]`,
			`"tool_calls":[{"index":1,"id":"b","function":{"name":"g"}}]`,
			`"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]`,
			`"tool_calls":[{"index":0,"function":{"arguments":":1}"}},{"index":1,"function":{"arguments":"{}"}}]`,
			`|"tool_calls"`, "[DONE]"), two, "", ""},
		{"one index for all", events(
			`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]`,
			`"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}]|"stop"`), two, "", ""},
		{"no indexes", events(
			`"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"b","function":{"name":"g"}}]|"stop"`,
		), two, "", ""},
		{"no indexes, in pieces", events(
			`"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\""}}]`,
			`"tool_calls":[{"function":{"arguments":":1}"}}]`,
			`"tool_calls":[{"id":"b","function":{"name":"g"}}]|"stop"`), two, "", ""},
		{"everything repeated", events(
			`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]`,
			`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"1}"}}]`,
			`"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":" "}}]|"stop"`), two, "", ""},
		{"an id for each piece", events(
			`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]`,
			`"tool_calls":[{"index":0,"id":"z","function":{"arguments":"1}"}}]`,
			`"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"null"}}]|"stop"`), two, "", ""},
		{"arguments as objects", events(
			`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}},` +
				`{"index":1,"id":"b","function":{"name":"g","arguments":{}}}]|"tool_calls"`), two, "", ""},
		{
			"the one call of old", events(`"function_call":{"name":"f"}`, `"function_call":{"arguments":"{\"x\":1}"}|"function_call"`),
			[]*genai.Part{called("local", "f", map[string]any{"x": 1.0})},
			"", "",
		},
		{
			"no ids, one index", events(
				`"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}}]`,
				`"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]|"stop"`),
			[]*genai.Part{called("local", "f", map[string]any{"x": 1.0}), called("local", "f", map[string]any{})},
			"", "",
		},
		{
			"one id for two", events(
				`"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}},{"index":1,"id":"a","function":{"name":"f"}}]|"stop"`),
			[]*genai.Part{called("a", "f", map[string]any{}), called("local", "f", map[string]any{})},
			"", "",
		},
		{
			"arguments that are no JSON", events(`"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{x:1}"}}]|"tool_calls"`),
			nil, model.MalformedCall, "the arguments of f are no JSON object",
		},
		{
			"arguments that are a list", events(`"tool_calls":[{"index":0,"function":{"name":"f","arguments":"[1]"}}]|"stop"`),
			nil, model.MalformedCall, "the arguments of f are no JSON object",
		},
		{
			"two objects", events(`"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}{}"}}]|"stop"`),
			nil, model.MalformedCall, "the arguments of f are no JSON object",
		},
		{
			"arguments cut at the limit", events(`"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"x"}}]|"length"`),
			nil, model.MalformedCall, "ended with length",
		},
		{
			"a call without a name", events(`"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]|"stop"`),
			nil, model.MalformedCall, "no name",
		},
		{
			"a call in a stream that was cut", events(`"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"x"}}]`),
			nil, model.Truncated, "without a finish reason",
		},
		{
			"a call that was filtered", events(`"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"x"}}]|"content_filter"`),
			nil, model.Blocked, "withheld",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			res, fault := modeltest.Collect(t.Context(), answering(t, 200, c.stream), modeltest.Ask("t", "x"))
			if c.class != "" {
				require.NotNil(t, fault)
				require.Equal(t, c.class, fault.Class, fault)
				require.Contains(t, fault.Message, c.words)
				return
			}
			require.Nil(t, fault)
			require.Len(t, res.Content.Parts, len(c.parts))
			ids := map[string]bool{}
			for i, p := range res.Content.Parts {
				if f := p.FunctionCall; f != nil {
					require.NotEmpty(t, f.ID)
					require.False(t, ids[f.ID], "ids are unique")
					ids[f.ID] = true
					if want := c.parts[i].FunctionCall; want != nil && want.ID == "local" {
						f.ID = want.ID
					}
				}
			}
			require.Equal(t, c.parts, res.Content.Parts)
		})
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, usage string
		want        spec.Usage
	}{
		{
			"thoughts in the completion", `{"prompt_tokens":100,"completion_tokens":30,"total_tokens":130,
		  "prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":20}}`,
			spec.Usage{Calls: 1, Prompt: 100, Cached: 64, Output: 10, Thoughts: 20},
		},
		{
			"thoughts beside it", `{"prompt_tokens":100,"completion_tokens":30,"total_tokens":150,
		  "completion_tokens_details":{"reasoning_tokens":20}}`,
			spec.Usage{Calls: 1, Prompt: 100, Output: 30, Thoughts: 20},
		},
		{
			"another word for cached", `{"prompt_tokens":9,"completion_tokens":3,"prompt_cache_hit_tokens":8}`,
			spec.Usage{Calls: 1, Prompt: 9, Cached: 8, Output: 3},
		},
		{
			"nonsense", `{"prompt_tokens":-4,"completion_tokens":1e300,"prompt_tokens_details":null}`,
			spec.Usage{Calls: 1, Output: 1<<31 - 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stream := events(`{"usage":{"prompt_tokens":1,"completion_tokens":1}}`, `"content":"hi"|"stop"`,
				`{"choices":[],"usage":`+strings.ReplaceAll(c.usage, "\n", " ")+`}`, "[DONE]")
			res, fault := modeltest.Collect(t.Context(), answering(t, 200, stream), modeltest.Ask("t", "x"))
			require.Nil(t, fault)
			require.Equal(t, c.want, res.Usage)
		})
	}
	req := modeltest.Ask("t", strings.Repeat("x", 700))
	res, fault := modeltest.Collect(t.Context(), answering(t, 200, events(`"content":"seven77"|"stop"`)), req)
	require.Nil(t, fault)
	require.Equal(t, spec.Usage{Calls: 1, Prompt: model.Estimate(req), Output: 2}, res.Usage, "untold, it is estimated")
	_, fault = modeltest.Collect(t.Context(), answering(t, 200, events(`"content":"seven77"`)), req)
	require.Equal(t, spec.Usage{Calls: 1, Prompt: model.Estimate(req), Output: 2}, fault.Usage)
}

// FuzzStream: whatever comes, there is one result that can be used, or one error with a class; and calls have arguments.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		events(`"content":"h"|"stop"`, `{"usage":{"prompt_tokens":3}}`, "[DONE]"),
		events(`"reasoning":"t"`, `"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]`,
			`"tool_calls":[{"function":{"arguments":"1}"}}]|"tool_calls"`),
		events(`"tool_calls":[{"function":{"name":"f","arguments":{"a":{}}}},{"function":{"name":"g"}}]|"length"`),
		`{"error":{"message":"m","code":429}}`, "data: [1]\n\n", ": x\r\ndata: null\r\n\r\n", `{"choices":[{"message":{"content":[]}}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		c := answering(t, 200, stream)
		defer c.Close()
		res, fault := modeltest.Collect(t.Context(), c, modeltest.Ask("t", "x"))
		if fault != nil {
			require.NotEmpty(t, fault.Class)
			require.NotContains(t, fault.Error(), secret)
			return
		}
		require.NotEmpty(t, res.Content.Parts)
		require.GreaterOrEqual(t, res.Usage.Total(), 0)
		require.Equal(t, 1, res.Usage.Calls)
		for _, p := range res.Content.Parts {
			if p.FunctionCall != nil {
				require.NotEmpty(t, p.FunctionCall.ID)
				require.NotEmpty(t, p.FunctionCall.Name)
				require.NotNil(t, p.FunctionCall.Args)
			}
		}
		again := modeltest.Ask("t", "x")
		again.Contents = append(again.Contents, res.Content, modeltest.Respond(res.Content))
		if len(again.Contents[2].Parts) == 0 {
			again.Contents[2] = genai.NewContentFromText("go on", genai.RoleUser)
		}
		_, invalid := encode(again, 0)
		require.Nil(t, invalid, "an answer can be sent back")
	})
}
