package model

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

func chunk(finish genai.FinishReason, parts ...*genai.Part) *genai.GenerateContentResponse {
	return &genai.GenerateContentResponse{Candidates: []*genai.Candidate{{
		Content: &genai.Content{Parts: parts}, FinishReason: finish,
	}}}
}

func TestAnswerJoinsOnlyUnsignedTextOfOneKind(t *testing.T) {
	t.Parallel()
	sig := []byte("s")
	in := []*genai.Part{
		{Text: "a", Thought: true},
		{Text: "b", Thought: true},
		{Text: "c"},
		{Text: ""},
		{Text: "d"},
		{Text: "e", ThoughtSignature: sig},
		{Text: "f"},
		{Text: "g", PartMetadata: map[string]any{"k": 1}},
		{Text: "h"},
		{FunctionCall: &genai.FunctionCall{ID: "1", Name: "f"}, ThoughtSignature: sig},
		{FunctionCall: &genai.FunctionCall{ID: "2", Name: "f"}},
		{Text: "i"},
		{ThoughtSignature: sig},
	}
	want := []*genai.Part{
		{Text: "ab", Thought: true},
		{Text: "cd"},
		{Text: "e", ThoughtSignature: sig},
		{Text: "f"},
		{Text: "g", PartMetadata: map[string]any{"k": 1}},
		{Text: "h"},
		in[9], in[10],
		{Text: "i"},
		{ThoughtSignature: sig},
	}
	var a Answer
	for _, p := range in {
		a.Observe(chunk("", p))
	}
	a.Observe(chunk("STOP"))
	res, err := a.Result("m")
	require.Nil(t, err)
	require.Equal(t, want, res.Content.Parts)
	require.Equal(t, genai.RoleModel, res.Content.Role)
	require.Equal(t, "a", in[0].Text, "a delta does not grow after it was shown")
}

func TestAnswerFinish(t *testing.T) {
	t.Parallel()
	text := &genai.Part{Text: "x"}
	sig := &genai.Part{ThoughtSignature: []byte("s")}
	cases := []struct {
		name   string
		chunk  *genai.GenerateContentResponse
		class  Class // empty: a result
		finish genai.FinishReason
	}{
		{"stop", chunk("STOP", text), "", "STOP"},
		{"a reason from the future", chunk("FUNCTION_CALL", text), "", "FUNCTION_CALL"},
		{"a future reason and nothing said", chunk("NEW"), Truncated, ""},
		{"stop, nothing said", chunk("STOP"), Truncated, ""},
		{"stop, a signature alone", chunk("STOP", sig), Truncated, ""},
		{"limit", chunk("MAX_TOKENS", text), "", "MAX_TOKENS"},
		{"limit, all of it thoughts", chunk("MAX_TOKENS"), Truncated, ""},
		{"unspecified", chunk("FINISH_REASON_UNSPECIFIED", text), Truncated, ""},
		{"none", chunk("", text), Truncated, ""},
		{"other", chunk("OTHER", text), Truncated, ""},
		{"malformed", chunk("MALFORMED_FUNCTION_CALL", text), MalformedCall, ""},
		{"unexpected call", chunk("UNEXPECTED_TOOL_CALL"), MalformedCall, ""},
		{"too many calls", chunk("TOO_MANY_TOOL_CALLS"), MalformedCall, ""},
		{"safety", chunk("SAFETY", text), Blocked, ""},
		{"recitation", chunk("RECITATION", text), Blocked, ""},
		{"language", chunk("LANGUAGE"), Blocked, ""},
		{"continuation without a token", chunk("CONTINUATION", text), Truncated, ""},
		{"no candidates", &genai.GenerateContentResponse{}, Truncated, ""},
		{"blocked prompt", &genai.GenerateContentResponse{
			PromptFeedback: &genai.GenerateContentResponsePromptFeedback{BlockReason: "SAFETY"},
		}, Blocked, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var a Answer
			c.chunk.UsageMetadata = &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 5}
			a.Observe(c.chunk)
			res, err := a.Result("m")
			if c.class == "" {
				require.Nil(t, err)
				require.Equal(t, c.finish, res.Finish)
				return
			}
			require.Equal(t, c.class, err.Class)
			require.Equal(t, 5, err.Usage.Prompt, "a failed answer was paid too")
		})
	}
}

func TestAnswerTakesTheLastUsage(t *testing.T) {
	t.Parallel()
	var a Answer
	for n := range int32(3) {
		c := chunk("STOP", &genai.Part{Text: "x"})
		c.UsageMetadata = &genai.GenerateContentResponseUsageMetadata{
			PromptTokenCount: 10, ToolUsePromptTokenCount: 1, CandidatesTokenCount: n, ThoughtsTokenCount: 7,
			CachedContentTokenCount: 4,
		}
		a.Observe(c)
	}
	res, err := a.Result("m")
	require.Nil(t, err)
	require.Equal(t, 11+2+7, res.Usage.Total())
	require.Equal(t, 4, res.Usage.Cached)
	require.Equal(t, "m", res.Model, "the asked name, when the server gives no version")
}
