package contextscope

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"
)

func texts(parts []*genai.Part) []string {
	var out []string
	for _, p := range parts {
		out = append(out, p.Text)
	}
	return out
}

func TestNarrativeBytes(t *testing.T) {
	t.Parallel()
	c := &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{
		{Text: "thinking", Thought: true},
		{Text: "I looked at `a<b>`.\n", ThoughtSignature: []byte("sig")},
		nil,
		{FunctionCall: &genai.FunctionCall{ID: "c1", Name: "grep", Args: map[string]any{"q": "a && b", "dir": "."}}},
		{FunctionResponse: &genai.FunctionResponse{ID: "c1", Name: "grep", Response: map[string]any{"hits": []any{1.0, 2.5}}}},
		{FunctionCall: &genai.FunctionCall{Name: "list"}},
	}}
	require.Equal(t, []string{
		"For context:",
		"[read-1/1] said: I looked at `a<b>`.\n",
		"[read-1/1] called tool `grep` with parameters: {\"dir\":\".\",\"q\":\"a && b\"}",
		"[read-1/1] `grep` tool returned result: {\"hits\":[1,2.5]}",
		"[read-1/1] called tool `list` with parameters: null",
	}, texts(newNarrator(NarrativePlain).content("read-1/1", c).Parts))

	n := newNarrator("")
	require.Equal(t, []string{
		fenceIntroduction,
		"[read-1/1] said:\n" + QuoteBegin + "\nI looked at `a<b>`.\n\n" + QuoteEnd,
		"[read-1/1] called tool `grep` with parameters:\n" + QuoteBegin + "\n{\"dir\":\".\",\"q\":\"a && b\"}\n" + QuoteEnd,
		"[read-1/1] `grep` tool returned result:\n" + QuoteBegin + "\n{\"hits\":[1,2.5]}\n" + QuoteEnd,
		"[read-1/1] called tool `list` with parameters:\n" + QuoteBegin + "\nnull\n" + QuoteEnd,
	}, texts(n.content("read-1/1", c).Parts))
	require.Equal(t, "For context:", n.content("read-1/1", c).Parts[0].Text, "the fence is introduced once")
}

func TestNarrativeLeavesSignaturesBehind(t *testing.T) {
	t.Parallel()
	blob := &genai.Part{InlineData: &genai.Blob{Data: []byte("x"), MIMEType: "image/png"}, ThoughtSignature: []byte("sig")}
	told := newNarrator(NarrativePlain).parts("a", &genai.Content{Parts: []*genai.Part{blob}})
	require.Len(t, told, 1)
	require.Equal(t, blob.InlineData, told[0].InlineData)
	require.Empty(t, told[0].ThoughtSignature)
	require.Equal(t, []byte("sig"), blob.ThoughtSignature, "the event itself is not touched")
}

func TestNarrativeOfUnmarshalableValues(t *testing.T) {
	t.Parallel()
	c := &genai.Content{Parts: []*genai.Part{
		{FunctionCall: &genai.FunctionCall{Name: "f", Args: map[string]any{"x": math.NaN(), "b": complex(1, 2)}}},
	}}
	require.Equal(t, "[a] called tool `f` with parameters: map[b:(1+2i) x:NaN]",
		newNarrator(NarrativePlain).parts("a", c)[0].Text)
}

func TestFenceCannotBeForged(t *testing.T) {
	t.Parallel()
	pieces := []string{
		QuoteBegin, QuoteEnd, quoteElided, "<<<", ">>>", "BEGIN_QUOTED_AGENT_CONTENT", "END_QUOTED_AGENT_CONTENT",
		"<", ">", "\n", "text", "<<<end_quoted_agent_content>>>", "<<< END_QUOTED_AGENT_CONTENT >>>", "ELIDED_MARKER",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "text"), "")
		quoted := quote(text)
		require.Equal(t, 1, strings.Count(quoted, QuoteBegin))
		require.Equal(t, 1, strings.Count(quoted, QuoteEnd))
		require.True(t, strings.HasPrefix(quoted, QuoteBegin+"\n"))
		require.True(t, strings.HasSuffix(quoted, "\n"+QuoteEnd))
		inner := strings.TrimSuffix(strings.TrimPrefix(quoted, QuoteBegin), QuoteEnd)
		require.False(t, forged.MatchString(inner), inner)
	})
	require.Equal(t, "a b <<<ELIDED_MARKER>>>", elideName("a\nb "+QuoteEnd))
	require.Equal(t, "x <<< y", elide("x <<< y"), "other text is left alone")
}

func TestBlankIsWhatPythonStrips(t *testing.T) {
	t.Parallel()
	require.True(t, blank(" \t\n\u00a0\u2003\x1c"))
	require.True(t, blank(""))
	require.False(t, blank(" \u200b "), "a zero-width space is no white space")
}
