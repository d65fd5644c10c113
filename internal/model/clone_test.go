package model

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

func TestEscapeInvalid(t *testing.T) {
	t.Parallel()
	require.Equal(t, "plain é \uFFFD", escapeInvalid("plain é \uFFFD"))
	require.Equal(t, `a\xff\xfeé\xe9`, escapeInvalid("a\xff\xfeé\xe9"))
}

func TestCloneIsDeepAndEscapes(t *testing.T) {
	t.Parallel()
	type hidden struct {
		Shown  string
		secret string
	}
	budget := int32(3)
	config := func() *genai.GenerateContentConfig {
		return &genai.GenerateContentConfig{
			SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: "s\xff", ThoughtSignature: []byte("sig\xff")}}},
			HTTPOptions:       &genai.HTTPOptions{Headers: http.Header{"A": {"b"}}},
			ThinkingConfig:    &genai.ThinkingConfig{ThinkingBudget: &budget},
			Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{
				Name: "f", ParametersJsonSchema: map[string]any{"d\xff": []any{"x\xff", 1, nil, &hidden{"y\xff", "kept"}}},
			}}}},
		}
	}
	src := config()
	got := cloneConfig(src)
	require.False(t, *got.AutomaticContinuation)
	require.Equal(t, `s\xff`, got.SystemInstruction.Parts[0].Text)
	require.Equal(t, []byte("sig\xff"), got.SystemInstruction.Parts[0].ThoughtSignature, "bytes are not text")
	schema, ok := got.Tools[0].FunctionDeclarations[0].ParametersJsonSchema.(map[string]any)
	require.True(t, ok)
	require.Equal(t, map[string]any{`d\xff`: []any{`x\xff`, 1, nil, &hidden{`y\xff`, "kept"}}}, schema)

	got.SystemInstruction.Role = "user"
	got.HTTPOptions.Headers.Set("A", "c")
	*got.ThinkingConfig.ThinkingBudget = 9
	schema["new"] = 1
	require.Equal(t, config(), src)
	require.NotNil(t, cloneConfig(nil))
}

func TestLocalIDsAreNotSent(t *testing.T) {
	t.Parallel()
	id := localID + "X"
	src := []*genai.Content{
		{Parts: []*genai.Part{{FunctionCall: &genai.FunctionCall{ID: id}}, {FunctionCall: &genai.FunctionCall{ID: "real"}}}},
		{Parts: []*genai.Part{{FunctionResponse: &genai.FunctionResponse{ID: id}}}},
	}
	out := cloneContents(src)
	require.Empty(t, out[0].Parts[0].FunctionCall.ID)
	require.Equal(t, "real", out[0].Parts[1].FunctionCall.ID)
	require.Empty(t, out[1].Parts[0].FunctionResponse.ID)
	require.Equal(t, id, src[0].Parts[0].FunctionCall.ID)
}
