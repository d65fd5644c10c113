package chat

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/internal/model"
	"divisi/internal/testkit/modeltest"
)

func txt(s string) *genai.Part { return &genai.Part{Text: s} }

func called(id, name string, args map[string]any) *genai.Part {
	return &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: name, Args: args}}
}

func responded(id, name string, response map[string]any) *genai.Part {
	return &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id, Name: name, Response: response}}
}

func said(role string, parts ...*genai.Part) *genai.Content {
	return &genai.Content{Role: role, Parts: parts}
}

// conversation has all that a request can contain: two calls in one answer, results that are text, JSON and an error, thoughts,
// signatures, a person's words behind results, local ids and ids that come again.
func conversation() *model.Request {
	req := modeltest.Ask("t", "")
	signed := called("a", "read", map[string]any{"path": "<a> & é"})
	signed.ThoughtSignature = []byte("sig")
	req.Contents = []*genai.Content{
		said("user", txt("one"), txt("two")),
		said("model", &genai.Part{Text: "hm", Thought: true}, txt("I read "), txt("both."), signed, called("b", "read", nil)),
		said("user", responded("b", "read", map[string]any{"output": "B"}), responded("a", "read", map[string]any{
			"output": "A", "n": 1,
		}), txt("stop")),
		said("user", txt("really")),
		said("model", &genai.Part{ThoughtSignature: []byte("alone")}),
		said("user", txt("now")),
		said("model", called("a", "read", nil), called("divisi-local-1", "list", nil), called("divisi-local-2", "list", nil)),
		said("user", responded("a", "read", map[string]any{"error": "gone"}),
			responded("divisi-local-1", "list", map[string]any{"output": "x"}),
			responded("divisi-local-2", "list", map[string]any{"output": "y\xff"})),
	}
	req.Config = &genai.GenerateContentConfig{
		SystemInstruction: said("user", txt("Be brief."), txt("Be kind.")), MaxOutputTokens: 99,
		ThinkingConfig: &genai.ThinkingConfig{ThinkingLevel: genai.ThinkingLevelLow, IncludeThoughts: true},
		Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{
			{Name: "read", Description: "reads", ParametersJsonSchema: map[string]any{"type": "object"}},
			{Name: "list"},
		}}},
	}
	return req
}

const conversationBody = `{"model":"gemini-3.8-flash","messages":[
{"role":"system","content":"Be brief.\n\nBe kind."},
{"role":"user","content":"one\n\ntwo"},
{"role":"assistant","content":"I read both.","tool_calls":[
{"id":"a","type":"function","function":{"name":"read","arguments":"{\"path\":\"<a> & é\"}"}},
{"id":"b","type":"function","function":{"name":"read","arguments":"{}"}}]},
{"role":"tool","content":"B","tool_call_id":"b"},
{"role":"tool","content":"{\"n\":1,\"output\":\"A\"}","tool_call_id":"a"},
{"role":"user","content":"stop\n\nreally\n\nnow"},
{"role":"assistant","content":null,"tool_calls":[
{"id":"call00001","type":"function","function":{"name":"read","arguments":"{}"}},
{"id":"call00002","type":"function","function":{"name":"list","arguments":"{}"}},
{"id":"call00003","type":"function","function":{"name":"list","arguments":"{}"}}]},
{"role":"tool","content":"{\"error\":\"gone\"}","tool_call_id":"call00001"},
{"role":"tool","content":"x","tool_call_id":"call00002"},
{"role":"tool","content":"y\\xff","tool_call_id":"call00003"}],
"tools":[{"type":"function","function":{"name":"read","description":"reads","parameters":{"type":"object"}}},
{"type":"function","function":{"name":"list","parameters":{"properties":{},"type":"object"}}}],
"stream":true,"stream_options":{"include_usage":true},"max_tokens":99,"reasoning_effort":"low"}`

func TestRequestBody(t *testing.T) {
	t.Parallel()
	body, fault := encode(conversation(), 0)
	require.Nil(t, fault)
	require.Equal(t, []byte(strings.ReplaceAll(conversationBody, "\n", "")), body) //nolint:testifylint // byte by byte: caches are
	require.NotContains(t, string(body), "hm", "thoughts are not sent back")
	require.NotContains(t, string(body), "sig", "signatures are Gemini's")

	body, fault = encode(conversation(), completionTokens|wantsThoughts|noUsage)
	require.Nil(t, fault)
	for _, part := range []string{`"max_completion_tokens":99`, `"reasoning_content":"hm"`, `"reasoning_content":""`} {
		require.Contains(t, string(body), part)
	}
	for _, part := range []string{`"max_tokens"`, `stream_options`} {
		require.NotContains(t, string(body), part)
	}
}

func TestRequestSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*genai.GenerateContentConfig)
		known  trait
		has    string
		hasNot string
	}{
		{"nothing asked", func(*genai.GenerateContentConfig) {}, 0, `"stream":true`, "reasoning_effort"},
		{
			"one tool", choose(genai.FunctionCallingConfigModeAny, "list"), 0,
			`"tool_choice":{"type":"function","function":{"name":"list"}}`, `"required"`,
		},
		{"one tool, all declared", choose(genai.FunctionCallingConfigModeAny, "list"), 0, `"name":"read"`, `"required"`},
		{
			"one tool, which cannot be said", choose(genai.FunctionCallingConfigModeAny, "list"), noToolChoice,
			`"name":"list"`, `"name":"read"`,
		},
		{"some tools", choose(genai.FunctionCallingConfigModeAny, "list", "more"), 0, `"tool_choice":"required"`, `"name":"read"`},
		{"any tool", choose(genai.FunctionCallingConfigModeAny), 0, `"tool_choice":"required"`, "x"},
		{"no tool", choose(genai.FunctionCallingConfigModeNone), 0, `"tool_choice":"none"`, "x"},
		{"as it likes", choose(genai.FunctionCallingConfigModeAuto), 0, `"name":"read"`, `tool_choice`},
		{"priority", func(c *genai.GenerateContentConfig) { c.ServiceTier = genai.ServiceTierPriority }, 0, `"service_tier":"priority"`, "x"},
		{
			"standard", func(c *genai.GenerateContentConfig) { c.ServiceTier = genai.ServiceTierStandard }, 0,
			`"service_tier":"default"`, "standard",
		},
		{"more fields", func(c *genai.GenerateContentConfig) {
			c.HTTPOptions = &genai.HTTPOptions{ExtraBody: map[string]any{"top_k": 3, "model": "other"}}
		}, 0, `"top_k":3`, modeltest.Ask("", "").Model},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			req := modeltest.Ask("t", "hello")
			req.Config = &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{
				{Name: "read"}, {Name: "list"},
			}}}}
			c.change(req.Config)
			body, fault := encode(req, c.known)
			require.Nil(t, fault)
			require.True(t, json.Valid(body))
			require.Contains(t, string(body), c.has)
			require.NotContains(t, string(body), `"`+strings.Trim(c.hasNot, `"`)+`"`)
		})
	}
}

func choose(mode genai.FunctionCallingConfigMode, names ...string) func(*genai.GenerateContentConfig) {
	return func(c *genai.GenerateContentConfig) {
		c.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{
			Mode: mode, AllowedFunctionNames: names,
		}}
	}
}

// What cannot be sent is refused with its place, and nothing is sent.
func TestRequestRefused(t *testing.T) {
	t.Parallel()
	c := newClient(t, Options{BaseURL: "http://service.test/v1", HTTPClient: &http.Client{Transport: roundTrip(
		func(*http.Request) (*http.Response, error) { panic("something was sent") })}})
	image := &genai.Part{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("x")}}
	withParts := responded("a", "f", map[string]any{"output": "x"})
	withParts.FunctionResponse.Parts = []*genai.FunctionResponsePart{{}}
	for want, change := range map[string]func(*model.Request){
		"contents[0].parts[0] contains data (image/png)": func(r *model.Request) { r.Contents[0].Parts[0] = image },
		"contents[1].parts[0] contains data (image/png)": func(r *model.Request) {
			r.Contents = append(r.Contents, said("model", image))
		},
		"system instruction.parts[0] contains a file (text/x), which chat": func(r *model.Request) {
			r.Config.SystemInstruction = said("user", &genai.Part{FileData: &genai.FileData{FileURI: "u", MIMEType: "text/x"}})
		},
		`response of f (id "b") answers no call`: func(r *model.Request) {
			r.Contents = append(r.Contents, said("model", called("a", "f", nil)),
				said("user", responded("b", "f", map[string]any{"output": "x"})))
		},
		`response of f (id "a") answers no call`: func(r *model.Request) {
			r.Contents[0].Parts = append(r.Contents[0].Parts, responded("a", "f", map[string]any{"output": "x"}))
		},
		"contents[2] leaves the call of f without a response": func(r *model.Request) {
			r.Contents = append(r.Contents, said("model", called("a", "f", nil)), said("user", txt("x")))
		},
		"contents[2] leaves the call of g without": func(r *model.Request) {
			r.Contents = append(r.Contents, said("model", called("a", "g", nil)), said("model", txt("x")))
		},
		"the last content leaves the call of f": func(r *model.Request) {
			r.Contents = append(r.Contents, said("model", called("a", "f", nil)))
		},
		"the response of f has parts": func(r *model.Request) {
			r.Contents = append(r.Contents, said("model", called("a", "f", nil)), said("user", withParts))
		},
		"contents[0].parts[0] contains a call": func(r *model.Request) { r.Contents[0].Parts[0] = called("a", "f", nil) },
		"contents[1].parts[0] contains a response": func(r *model.Request) {
			r.Contents = append(r.Contents, said("model", responded("a", "f", nil)))
		},
		"tools[0] is one of Gemini's own": func(r *model.Request) {
			r.Config.Tools = []*genai.Tool{{GoogleSearch: &genai.GoogleSearch{}}}
		},
		"tool f has Parameters": func(r *model.Request) {
			r.Config.Tools = []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{
				{Name: "f", Parameters: &genai.Schema{Type: "OBJECT"}},
			}}}
		},
		`are not sent {"temperature":1}`:    func(r *model.Request) { r.Config.Temperature = new(float32(1)) },
		`are not sent {"continuationToken"`: func(r *model.Request) { r.Config.ContinuationToken = []byte("x") },
	} {
		req := modeltest.Ask("t", "hello")
		req.Config = &genai.GenerateContentConfig{}
		change(req)
		_, fault := modeltest.Collect(t.Context(), c, req)
		require.NotNil(t, fault, want)
		require.Equal(t, model.Invalid, fault.Class)
		require.Contains(t, fault.Message, want)
	}
}
