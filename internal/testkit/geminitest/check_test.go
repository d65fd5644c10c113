package geminitest

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

func TestViolations(t *testing.T) {
	t.Parallel()
	sig := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	good := base64.StdEncoding.EncodeToString(sign(&genai.Part{FunctionCall: &genai.FunctionCall{
		Name: "f", Args: map[string]any{"a": 1},
	}}))
	call := func(sig string) string {
		return `{"functionCall":{"id":"1","name":"f","args":{"a":1.0}},"thoughtSignature":"` + sig + `"}`
	}
	const user, reply = `{"role":"user","parts":[{"text":"go"}]}`, `{"functionResponse":{"id":"1","name":"f","response":{}}}`
	contents := func(c ...string) string { return `{"contents":[` + strings.Join(c, ",") + `]}` }
	model := func(parts ...string) string { return `{"role":"model","parts":[` + strings.Join(parts, ",") + `]}` }
	answer := func(parts ...string) string { return `{"role":"user","parts":[` + strings.Join(parts, ",") + `]}` }
	tools := func(t string) string {
		return `{"contents":[` + user + `],"tools":[{"functionDeclarations":[` + t + `]}]}`
	}
	cases := []struct{ name, body, want string }{ // an empty want: no violation
		{"a tool loop", contents(user, model(`{"text":"hm","thought":true}`, call(good)), answer(reply)), ""},
		{"results and a reminder", contents(user, model(call(good)), answer(reply, `{"text":"two turns left"}`)), ""},
		{"stand-in signature", contents(user, model(call(sig(skipSignature))), answer(reply)), ""},
		{"earlier turns may be unsigned", contents(user, model(call("")), answer(reply), model(`{"text":"ok"}`), user), ""},
		{"a good tool", tools(`{"name":"f","parametersJsonSchema":{"type":"object","properties":{"a":{"type":["string","null"]}},
		  "required":["a"]}}`), ""},
		{"full config", `{"contents":[` + user + `],"systemInstruction":{"role":"user","parts":[{"text":"s"}]},
		  "generationConfig":{"thinkingConfig":{"thinkingLevel":"LOW"},"maxOutputTokens":5},"toolConfig":{}}`, ""},

		{"not JSON", `{`, "request body"},
		{"two documents", hello + hello, "more than one document"},
		{"unknown field", `{"contents":[],"foo":1}`, `unknown field "foo"`},
		{"unknown field of a part", contents(`{"role":"user","parts":[{"txt":"a"}]}`), "unknown field"},
		{"unknown generation field", `{"contents":[` + user + `],"generationConfig":{"heat":1}}`, "generationConfig.heat"},
		{"no contents", `{}`, "contents is not specified"},
		{"empty part", contents(`{"role":"user","parts":[{}]}`), "parts[0] is empty"},
		{"empty text", contents(`{"role":"user","parts":[{"text":"","thought":true}]}`), "parts[0] is empty"},
		{"no parts", contents(`{"role":"user"}`), "has no parts"},
		{"starts with model", contents(model(`{"text":"a"}`)), "alternate"},
		{"user twice", contents(user, user), "alternate"},
		{"role system", contents(`{"role":"system","parts":[{"text":"go"}]}`), "alternate"},
		{"ends with model", contents(user, model(`{"text":"a"}`)), "last content"},
		{"call not answered", contents(user, model(call(good)), user), "1 function calls and 0"},
		{"orphan response", contents(answer(reply)), "0 function calls and 1"},
		{"answered twice", contents(user, model(call(good)), answer(reply, reply)), "1 function calls and 2"},
		{"other id", contents(user, model(call(good)), answer(strings.Replace(reply, `"1"`, `"2"`, 1))), `(id "2")`},
		{"other name", contents(user, model(call(good)), answer(strings.Replace(reply, `"f"`, `"g"`, 1))), "is for g"},
		{"no response", contents(user, model(call(good)), answer(`{"functionResponse":{"id":"1","name":"f"}}`)), "no response"},
		{"user calls", contents(answer(call(good))), "a user cannot call"},
		{"model responds", contents(user, model(reply), user), "a model cannot answer"},
		{"missing signature", contents(user, model(call("")), answer(reply)), "missing a thought_signature"},
		{"foreign signature", contents(user, model(call(sig("other"))), answer(reply)), "not valid for this part"},
		{"moved signature", contents(user, model(`{"text":"x","thoughtSignature":"`+good+`"}`), user), "not valid for this part"},
		{"signature fanned out", contents(user, model(call(good), call(good)), answer(reply, reply)), "only the first"},
		{"signed user", contents(`{"role":"user","parts":[{"text":"x","thoughtSignature":"` + good + `"}]}`), "cannot be signed"},
		{"tool name", tools(`{"name":"a b"}`), "invalid function name"},
		{"tool twice", tools(`{"name":"f"},{"name":"f"}`), "duplicate"},
		{"schema is a list", tools(`{"name":"f","parametersJsonSchema":[]}`), "not a schema of type object"},
		{"schema of a string", tools(`{"name":"f","parametersJsonSchema":{"type":"string"}}`), "not a schema of type object"},
		{
			"array without items",
			tools(`{"name":"f","parametersJsonSchema":{"type":"object","properties":{"a":{"type":"array"}}}}`),
			"properties.a.items: missing field",
		},
		{
			"unknown type", tools(`{"name":"f","parametersJsonSchema":{"type":"object","properties":{"a":{"type":"text"}}}}`),
			"unknown type text",
		},
		{"unknown required", tools(`{"name":"f","parametersJsonSchema":{"type":"object","required":["a"]}}`), "not defined"},
		{
			"property is no schema", tools(`{"name":"f","parametersJsonSchema":{"type":"object","properties":{"a":1}}}`),
			"not a schema",
		},
		{"properties is a list", tools(`{"name":"f","parametersJsonSchema":{"type":"object","properties":[]}}`), "not an object"},
		{"too deep", tools(`{"name":"f","parametersJsonSchema":` + strings.Repeat(`{"type":"object","properties":{"a":`, 13) +
			`{"type":"string"}` + strings.Repeat(`}}`, 13) + `}`), "too deeply"},
		{"both schemas", tools(`{"name":"f","parameters":{"type":"OBJECT"},"parametersJsonSchema":{"type":"object"}}`), "both"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := lenient(t, `rules: [{task: "*", repeat: true, steps: [{text: fine}]}]`)
			status, text := post(t, s.URL+streamPath, c.body)
			if c.want == "" {
				require.Equal(t, 200, status, text)
				require.Empty(t, s.Violations())
				return
			}
			require.Equal(t, 400, status)
			require.Len(t, s.Violations(), 1)
			require.Contains(t, s.Violations()[0].Reason, c.want)
			require.Contains(t, text, "INVALID_ARGUMENT")
		})
	}
}

// The server remembers what it signed: a signature that is lost from an answer is missed, even where the part that it
// was on is not a call.
func TestLostSignatureIsMissed(t *testing.T) {
	t.Parallel()
	issued := func(string) ([]string, bool) { return []string{"one", "two"}, true }
	c := &genai.Content{Parts: []*genai.Part{{FunctionCall: &genai.FunctionCall{ID: "1"}}}}
	require.ErrorContains(t, sameSignatures(c, []string{"one"}, issued), "had 2 thought signatures; 1 came back")
	require.NoError(t, sameSignatures(c, []string{"one", "two"}, issued))
	require.NoError(t, sameSignatures(c, []string{skipSignature}, issued))
}

// Start fails a test that breaks the rules, unless it asked not to.
func TestStartReportsViolations(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{false, true} {
		var r recording
		r.TB = t
		s := Start(&r, Options{Script: parse(t, `rules: [{steps: [{text: a}]}]`), Lenient: allowed})
		post(t, s.URL+streamPath, `{}`)
		for _, f := range r.cleanups {
			f()
		}
		require.Equal(t, !allowed, r.failed != "", r.failed)
	}
}

// recording is a testing.TB that notes what would fail.
type recording struct {
	testing.TB
	failed   string
	cleanups []func()
}

func (r *recording) Helper()                           {}
func (r *recording) Cleanup(f func())                  { r.cleanups = append(r.cleanups, f) }
func (r *recording) Errorf(format string, args ...any) { r.failed = fmt.Sprintf(format, args...) }
