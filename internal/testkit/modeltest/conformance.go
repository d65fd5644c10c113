package modeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/internal/model"
)

// patience is how long a test waits for a server that hangs.
const patience = 50 * time.Millisecond

// Maker makes the model under test, which answers from a script. It fails the test when the model's server sees a breach
// of the API's rules.
type Maker func(t *testing.T, script string) model.Model

// Conformance is the contract of model.Model as tests.
func Conformance(t *testing.T, mk Maker) {
	t.Helper()
	cases := []struct {
		name string
		run  func(*testing.T, Maker)
	}{
		{"text", text},
		{"turns", turns},
		{"local ids", localIDs},
		{"request untouched", untouched},
		{"range twice", twice},
		{"break", breakOff},
		{"concurrent", concurrent},
		{"cancel", cancelled},
		{"refuse", refused},
		{"arguments", arguments},
		{"system and tools", systemAndTools},
		{"steered", steered},
		{"output limit", outputLimit},
		{"one error", oneError},
		{"lazy", lazy},
		{"deadline", deadline},
		{"broken is paid", brokenIsPaid},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, mk)
		})
	}
	for fault, class := range faultClasses() {
		t.Run("fault "+fault, func(t *testing.T) {
			t.Parallel()
			m := mk(t, fmt.Sprintf("rules: [{steps: [{fault: %q}]}]", fault))
			_, err := Collect(t.Context(), m, Ask("a", "hello"))
			require.Equal(t, class, err.Class, "%v", err)
		})
	}
}

func faultClasses() map[string]model.Class {
	return map[string]model.Class{
		"429": model.RateLimited, "quota_day": model.RateLimited, "500": model.Unavailable, "503": model.Overloaded,
		"404": model.Invalid, "too_long": model.TooLong, "wrong_key": model.Auth, "bad_signature": model.Invalid,
		"clean_cut": model.Truncated, "empty": model.Truncated, "empty_candidate": model.Truncated,
		"cut": model.Truncated, "malformed_json": model.Truncated, "error": model.Overloaded, "other": model.Truncated,
		"malformed_function_call": model.MalformedCall, "safety": model.Blocked, "prompt_blocked": model.Blocked,
	}
}

// Ask makes a request of one user text for a task.
func Ask(task, text string) *model.Request {
	return &model.Request{
		Model: model.DefaultModel, Contents: []*genai.Content{genai.NewContentFromText(text, genai.RoleUser)},
		Meta: model.Meta{Run: "r", Task: task, Attempt: 1, Turn: 1, Purpose: "turn"},
	}
}

// Collect asks once and returns the result or the error; one of them is nil.
func Collect(ctx context.Context, m model.Model, req *model.Request) (*model.Result, *model.Error) {
	for ev, err := range m.Generate(ctx, req) {
		if err != nil {
			return nil, model.AsError(err)
		}
		if ev.Result != nil {
			return ev.Result, nil
		}
	}
	return nil, &model.Error{Class: model.Invalid, Message: "the model yielded neither a result nor an error"}
}

// answered collects and wants a result.
func answered(t *testing.T, m model.Model, req *model.Request) *model.Result {
	t.Helper()
	res, err := Collect(t.Context(), m, req)
	require.Nil(t, err)
	return res
}

func text(t *testing.T, mk Maker) {
	m := mk(t, `rules: [{steps: [{thought: "I think.", text: "Hello, {{task}}: a < b", chunk: 3,
	  usage: {prompt: 100, cached: 40, output: 7, thoughts: 3}}]}]`)
	var shown string
	var results int
	var res *model.Result
	for ev, err := range m.Generate(t.Context(), Ask("t1", "hello")) {
		require.NoError(t, err)
		require.Nil(t, res, "nothing comes after the result")
		if ev.Result != nil {
			res, results = ev.Result, results+1
			continue
		}
		if !ev.Delta.Thought {
			shown += ev.Delta.Text
		}
	}
	require.Equal(t, 1, results)
	require.Equal(t, "Hello, t1: a < b", shown)
	parts := res.Content.Parts
	require.GreaterOrEqual(t, len(parts), 2)
	require.Equal(t, []*genai.Part{{Text: "I think.", Thought: true}, {Text: "Hello, t1: a < b"}}, parts[:2])
	for _, p := range parts[2:] {
		require.Equal(t, &genai.Part{ThoughtSignature: p.ThoughtSignature}, p, "nothing but a signature on its own")
	}
	require.Equal(t, genai.RoleModel, res.Content.Role)
	require.Equal(t, genai.FinishReasonStop, res.Finish)
	require.NotEmpty(t, res.Model)
	require.Equal(t, 110, res.Usage.Total())
	require.Equal(t, 40, res.Usage.Cached)
	require.Equal(t, 1, res.Usage.Calls)
	require.NotEmpty(t, res.ResponseID)
}

// Signatures is the contract of models that sign their thoughts.
func Signatures(t *testing.T, mk Maker) {
	t.Helper()
	parts := answered(t, mk(t, `rules: [{steps: [{thought: hm, text: hello, chunk: 2}]}]`), Ask("t", "x")).Content.Parts
	require.Len(t, parts, 3, "thought, text, and the signature on its own")
	require.Empty(t, parts[1].ThoughtSignature)
	require.NotEmpty(t, parts[2].ThoughtSignature)
	parts = answered(t, mk(t, callScript), Ask("t", "x")).Content.Parts
	require.NotEmpty(t, parts[1].ThoughtSignature, "the first of parallel calls is signed for all")
	require.Empty(t, parts[2].ThoughtSignature)
}

const callScript = `rules: [{steps: [
  {thought: "both", calls: [{name: read, args: {path: a.go, n: 1.0}}, {name: read, args: {path: b.go}}]},
  {calls: [{name: write, args: {text: '{{result "read" | replace "of" "for"}}'}}]},
  {text: "done"}]}]`

// turns plays a whole conversation: the strict server takes it only when every part comes back as it went out.
func turns(t *testing.T, mk Maker) {
	m := mk(t, callScript)
	req := Ask("t", "go")
	for turn := 1; turn <= 2; turn++ {
		req.Meta.Turn = turn
		res := answered(t, m, req)
		req.Contents = append(req.Contents, res.Content, Respond(res.Content))
	}
	require.Equal(t, "content for b.go", req.Contents[3].Parts[0].FunctionCall.Args["text"])
	req.Meta.Turn = 3
	res := answered(t, m, req)
	require.Equal(t, "done", res.Content.Parts[0].Text)
	// The stored history is what goes out in a resumed run: it must survive JSON.
	raw, err := json.Marshal(req.Contents)
	require.NoError(t, err)
	req.Contents = nil
	require.NoError(t, json.Unmarshal(raw, &req.Contents))
	answered(t, m, req)
}

// Respond answers every call of a model's content, in order, with "content of" the argument path.
func Respond(c *genai.Content) *genai.Content {
	out := &genai.Content{Role: genai.RoleUser}
	for _, p := range c.Parts {
		if f := p.FunctionCall; f != nil {
			out.Parts = append(out.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{
				ID: f.ID, Name: f.Name, Response: map[string]any{"output": fmt.Sprintf("content of %v", f.Args["path"])},
			}})
		}
	}
	return out
}

// localIDs: a model that gives no ids gets none back, and callers still can tell calls apart.
func localIDs(t *testing.T, mk Maker) {
	m := mk(t, `rules: [{steps: [{no_ids: true, calls: [{name: read}, {name: read}]}, {text: done}]}]`)
	req := Ask("t", "go")
	res := answered(t, m, req)
	first, second := res.Content.Parts[0].FunctionCall.ID, res.Content.Parts[1].FunctionCall.ID
	require.NotEmpty(t, first)
	require.NotEqual(t, first, second)
	req.Contents, req.Meta.Turn = append(req.Contents, res.Content, Respond(res.Content)), 2
	answered(t, m, req)
	require.Equal(t, first, req.Contents[1].Parts[0].FunctionCall.ID)
}

func fullConfig() *genai.GenerateContentConfig {
	return &genai.GenerateContentConfig{
		SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: "Be brief."}}},
		HTTPOptions:       &genai.HTTPOptions{},
		ThinkingConfig:    &genai.ThinkingConfig{IncludeThoughts: true, ThinkingLevel: genai.ThinkingLevelLow},
		Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{
			Name: "read", Description: "reads",
			ParametersJsonSchema: map[string]any{
				"type": "object", "required": []any{"path"},
				"properties": map[string]any{"path": map[string]any{"type": "string"}},
			},
		}}}},
	}
}

func untouched(t *testing.T, mk Maker) {
	m := mk(t, `rules: [{steps: [{text: hi}]}]`)
	req, want := Ask("t", "a\xffb"), Ask("t", "a\xffb")
	req.Config, want.Config = fullConfig(), fullConfig()
	answered(t, m, req)
	require.Equal(t, want, req)
}

func twice(t *testing.T, mk Maker) {
	m := mk(t, `rules: [{steps: [{fault: 503, times: 1, text: hi}]}]`)
	seq := m.Generate(t.Context(), Ask("t", "x"))
	for _, err := range seq {
		require.Equal(t, model.Overloaded, model.AsError(err).Class)
	}
	var got *model.Result
	for ev, err := range seq {
		require.NoError(t, err)
		got = ev.Result
	}
	require.NotNil(t, got, "the second range asks again")
}

func breakOff(t *testing.T, mk Maker) {
	m := mk(t, `rules: [{repeat: true, steps: [{text: "one two three", chunk: 4}]}]`)
	for ev, err := range m.Generate(t.Context(), Ask("t", "x")) {
		require.NoError(t, err)
		require.Equal(t, "one ", ev.Delta.Text)
		break
	}
	answered(t, m, Ask("t", "x")) // the model is still good
}

// concurrent shares one configuration among many calls: the race detector is the judge.
func concurrent(t *testing.T, mk Maker) {
	m := mk(t, `rules: [{task: "t*", steps: [{text: "I am {{task}}", chunk: 2}]}]`)
	config := fullConfig()
	var wg sync.WaitGroup
	errs := make([]error, 24)
	for i := range errs {
		wg.Go(func() {
			req := Ask(fmt.Sprintf("t%d", i), "x")
			req.Config = config
			res, err := Collect(t.Context(), m, req)
			switch {
			case err != nil:
				errs[i] = err
			case res.Content.Parts[0].Text != "I am "+req.Meta.Task:
				errs[i] = fmt.Errorf("%s was told %q", req.Meta.Task, res.Content.Parts[0].Text)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}

func cancelled(t *testing.T, mk Maker) {
	m := mk(t, `rules: [{steps: [{fault: hang, text: "one two"}]}]`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for ev, err := range m.Generate(ctx, Ask("t", "x")) {
		if ev.Delta != nil {
			cancel()
		}
		last = err
	}
	require.ErrorIs(t, last, context.Canceled)
	require.Equal(t, model.Cancelled, model.AsError(last).Class)
}

// refused: what would crash or be sent as an empty body never leaves.
func refused(t *testing.T, mk Maker) {
	m := mk(t, `rules: [{steps: [{text: hi}]}]`)
	for _, contents := range [][]*genai.Content{
		nil,
		{nil},
		{{Role: "user"}},
		{{Role: "user", Parts: []*genai.Part{nil}}},
		{{Role: "user", Parts: []*genai.Part{{}}}},
		{{Role: "system", Parts: []*genai.Part{{Text: "x"}}}},
	} {
		req := Ask("t", "x")
		req.Contents = contents
		_, err := Collect(t.Context(), m, req)
		require.Equal(t, model.Invalid, err.Class)
	}
}
