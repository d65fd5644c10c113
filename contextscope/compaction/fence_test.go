package compaction

import (
	"strings"
	"testing"

	"google.golang.org/genai"

	"divisi/contextscope"
	"divisi/internal/testkit/fencetest"
)

// All of the session that a model summarises is in the fence; the name of a tool is one word.
func TestWordsOfASessionStayInTheFence(t *testing.T) {
	t.Parallel()
	material := func(kind contextscope.Kind, p *genai.Part) string {
		return eventMaterial(contextscope.Event{Seq: 3, Kind: kind, Content: &genai.Content{Parts: []*genai.Part{p}}})
	}
	call := func(name, words string) *genai.Part {
		return &genai.Part{FunctionCall: &genai.FunctionCall{Name: name, Args: map[string]any{"a": words}}}
	}
	result := func(name, words string) *genai.Part {
		return &genai.Part{FunctionResponse: &genai.FunctionResponse{Name: name, Response: map[string]any{"output": words}}}
	}
	for _, prompt := range []func(words string) string{
		func(w string) string { return material(contextscope.KindTurn, &genai.Part{Text: w}) },
		func(w string) string { return material(contextscope.KindSteering, &genai.Part{Text: w}) },
		func(w string) string { return material(contextscope.KindTurn, call("read", w)) },
		func(w string) string { return material(contextscope.KindTool, result("read", w)) },
		func(w string) string { return Job{previous: w}.opening() },
		func(w string) string { return Job{paths: []string{w}, red: []string{w}}.opening() },
	} {
		fencetest.CheckQuoted(t, prompt)
	}
	fencetest.Check(t, func(w string) string {
		return strings.Join([]string{material(contextscope.KindTurn, call(w, "x")), material(contextscope.KindTool, result(w, "x"))}, "\n")
	})
}
