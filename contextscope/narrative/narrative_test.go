package narrative

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"divisi/internal/testkit/sessiontest"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"
)

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
	}, sessiontest.Texts(New(Plain).Content("read-1/1", c).Parts))

	n := New("")
	require.Equal(t, []string{
		Introduction,
		"[read-1/1] said:\n" + QuoteBegin + "\nI looked at `a<b>`.\n\n" + QuoteEnd,
		"[read-1/1] called tool `grep` with parameters:\n" + QuoteBegin + "\n{\"dir\":\".\",\"q\":\"a && b\"}\n" + QuoteEnd,
		"[read-1/1] `grep` tool returned result:\n" + QuoteBegin + "\n{\"hits\":[1,2.5]}\n" + QuoteEnd,
		"[read-1/1] called tool `list` with parameters:\n" + QuoteBegin + "\nnull\n" + QuoteEnd,
	}, sessiontest.Texts(n.Content("read-1/1", c).Parts))
	require.Equal(t, "For context:", n.Content("read-1/1", c).Parts[0].Text, "the fence is introduced once")
}

func TestNarrativeLeavesSignaturesBehind(t *testing.T) {
	t.Parallel()
	blob := &genai.Part{InlineData: &genai.Blob{Data: []byte("x"), MIMEType: "image/png"}, ThoughtSignature: []byte("sig")}
	told := New(Plain).Parts("a", &genai.Content{Parts: []*genai.Part{blob}})
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
		New(Plain).Parts("a", c)[0].Text)
}

func TestBlankIsWhatPythonStrips(t *testing.T) {
	t.Parallel()
	require.True(t, blank(" \t\n\u00a0\u2003\x1c"))
	require.True(t, blank(""))
	require.False(t, blank(" \u200b "), "a zero-width space is no white space")
}

func TestPlainNarrativeIsADKsToTheByte(t *testing.T) {
	t.Parallel()
	word := rapid.StringMatching(`[a-z<>&"\\ \n{}é]{1,12}`).Filter(func(s string) bool { return !blank(s) })
	value := rapid.OneOf(rapid.Map(word, func(s string) any { return s }), rapid.Just[any](nil), rapid.Just[any](true),
		rapid.Map(rapid.Float64Range(-1e6, 1e6), func(f float64) any { return f }))
	object := rapid.MapOfN(word, rapid.OneOf(value, rapid.Map(rapid.SliceOfN(value, 0, 3), func(v []any) any { return v })), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		said, tool, args, result := word.Draw(t, "said"), word.Draw(t, "tool"), object.Draw(t, "args"), object.Draw(t, "result")
		c := &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{
			{Text: said},
			{FunctionCall: &genai.FunctionCall{ID: "c1", Name: tool, Args: args}, ThoughtSignature: []byte("s")},
			{FunctionResponse: &genai.FunctionResponse{ID: "c1", Name: tool, Response: result}},
		}}
		told := New(Plain).Content("me", c)
		require.Equal(t, genai.RoleUser, told.Role)
		got := sessiontest.Texts(told.Parts)
		require.Len(t, got, 4)
		require.Equal(t, []string{"For context:", "[me] said: " + said}, got[:2])
		require.Equal(t, args, objectOf(t, got[2], "[me] called tool `"+tool+"` with parameters: "))
		require.Equal(t, result, objectOf(t, got[3], "[me] `"+tool+"` tool returned result: "))
		require.Equal(t, got, sessiontest.Texts(New(Plain).Content("me", c).Parts), "deterministic to the byte")
	})
}

// objectOf reads the object that a sentence ends in, which is one compact line with sorted keys and without HTML escapes.
func objectOf(t require.TestingT, sentence, head string) map[string]any {
	text, ok := strings.CutPrefix(sentence, head)
	require.True(t, ok, sentence)
	require.NotContains(t, text, `\u00`)
	var read map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &read))
	var sorted bytes.Buffer
	enc := json.NewEncoder(&sorted)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(read))
	require.Equal(t, sorted.String(), text+"\n")
	return read
}
