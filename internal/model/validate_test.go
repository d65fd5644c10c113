package model

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	decl := func(f ...*genai.FunctionDeclaration) func(*Request) {
		return func(r *Request) {
			r.Config = &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: f}}}
		}
	}
	config := func(c genai.GenerateContentConfig) func(*Request) { return func(r *Request) { r.Config = &c } }
	part := func(p *genai.Part) func(*Request) {
		return func(r *Request) { r.Contents[0].Parts = append(r.Contents[0].Parts, p) }
	}
	many := make([]*genai.FunctionDeclaration, maxDeclarations+1)
	for i := range many {
		many[i] = &genai.FunctionDeclaration{Name: "f" + strings.Repeat("x", i)}
	}
	cases := []struct {
		name   string
		change func(*Request)
		want   string // empty: valid
	}{
		{"fine", func(*Request) {}, ""},
		{"signature alone", part(&genai.Part{ThoughtSignature: []byte("s")}), ""},
		{"no model", func(r *Request) { r.Model = "" }, "model name"},
		{"climbing model", func(r *Request) { r.Model = "../x" }, "model name"},
		{"model with a query", func(r *Request) { r.Model = "x?y" }, "model name"},
		{"thought flag alone", part(&genai.Part{Thought: true}), "parts[1] is empty"},
		{"call without a name", part(&genai.Part{FunctionCall: &genai.FunctionCall{}}), "call without a name"},
		{"response without a name", part(&genai.Part{FunctionResponse: &genai.FunctionResponse{}}), "response without a name"},
		{"nil part of a response", part(&genai.Part{FunctionResponse: &genai.FunctionResponse{
			Name: "f", Parts: []*genai.FunctionResponsePart{nil},
		}}), "nil part"},
		{"bad metadata", part(&genai.Part{Text: "x", PartMetadata: map[string]any{"c": make(chan int)}}), "JSON"},
		{"two candidates", config(genai.GenerateContentConfig{CandidateCount: 2}), "candidates"},
		{"empty system instruction", config(genai.GenerateContentConfig{SystemInstruction: &genai.Content{}}), "no parts"},
		{"nil system part", config(genai.GenerateContentConfig{
			SystemInstruction: &genai.Content{Parts: []*genai.Part{nil}},
		}), "is nil"},
		{"own retries", config(genai.GenerateContentConfig{
			HTTPOptions: &genai.HTTPOptions{RetryOptions: &genai.HTTPRetryOptions{}},
		}), "HTTPOptions"},
		{"own timeout", config(genai.GenerateContentConfig{
			HTTPOptions: &genai.HTTPOptions{Timeout: genai.Ptr(time.Second)},
		}), "HTTPOptions"},
		{"level that the model lacks", config(genai.GenerateContentConfig{
			ThinkingConfig: &genai.ThinkingConfig{ThinkingLevel: genai.ThinkingLevelMinimal},
		}), "thinking levels LOW, MEDIUM, HIGH"},
		{
			"tier that the model lacks", config(genai.GenerateContentConfig{ServiceTier: "batch"}),
			"service tiers flex, priority, standard, not batch",
		},
		{"tier", config(genai.GenerateContentConfig{ServiceTier: "priority"}), ""},
		{"JSON beside tools", func(r *Request) {
			decl(&genai.FunctionDeclaration{Name: "f"})(r)
			r.Config.ResponseMIMEType = "application/json"
		}, ""},
		{"JSON beside tools on a model that cannot", func(r *Request) {
			decl(&genai.FunctionDeclaration{Name: "f"})(r)
			r.Model, r.Config.ResponseMIMEType = "gemini-2.5-flash-lite", "application/json"
		}, "cannot be asked for JSON beside tools"},
		{"nil tool", config(genai.GenerateContentConfig{Tools: []*genai.Tool{nil}}), "tools[0] is nil"},
		{"nil declaration", decl(nil), "is nil"},
		{"nameless declaration", decl(&genai.FunctionDeclaration{}), "has no name"},
		{"twice", decl(&genai.FunctionDeclaration{Name: "f"}, &genai.FunctionDeclaration{Name: "f"}), "declared twice"},
		{"two schemas", decl(&genai.FunctionDeclaration{
			Name: "f", Parameters: &genai.Schema{}, ParametersJsonSchema: map[string]any{},
		}), "both"},
		{"too many", decl(many...), "limit is 512"},
		{"schema that is no JSON", decl(&genai.FunctionDeclaration{Name: "f", ParametersJsonSchema: func() {}}), "JSON"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			req := &Request{Model: DefaultModel, Contents: genai.Text("x")}
			c.change(req)
			err := Validate(req)
			if c.want == "" {
				require.Nil(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
			require.Equal(t, Invalid, err.Class)
		})
	}
	require.NotNil(t, Validate(nil))
}
