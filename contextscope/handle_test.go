package contextscope_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"divisi/contextscope"
	"divisi/contextscope/compaction"
	"divisi/internal/testkit/sessiontest"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"
)

func TestEventHandleIsReadBackAndNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seq := rapid.IntRange(1, 1<<40).Draw(t, "seq")
		got, ok := contextscope.ParseEventHandle(contextscope.EventHandle(seq))
		require.True(t, ok)
		require.Equal(t, seq, got)
	})
	for _, bad := range []string{
		"", "17", "event:", "event:0", "event:-1", "event:+1", "event:01", "event: 1", "event:1 ", "Event:1", "event:1x",
		"event:99999999999999999999",
	} {
		_, ok := contextscope.ParseEventHandle(bad)
		require.False(t, ok, bad)
	}
}

func TestRenderEventShowsAllThatWasSaid(t *testing.T) {
	t.Parallel()
	e := contextscope.Event{Content: &genai.Content{Parts: []*genai.Part{
		nil, sessiontest.Think("secret"), sessiontest.Say("a < b\nnext"),
		{FunctionCall: &genai.FunctionCall{Name: "edit_file", Args: map[string]any{"path": "a.go", "b": 1}}},
		{FunctionCall: &genai.FunctionCall{Name: "submit_result"}, Thought: true},
		{FunctionResponse: &genai.FunctionResponse{Name: "run_command", Response: map[string]any{
			"output": "one\ntwo", "exit_code": 2, "a": []any{"x"},
		}}},
		{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("abc")}},
	}}}
	require.Equal(t, `a < b
next

edit_file({"b":1,"path":"a.go"})

submit_result({})

run_command returned:
a: ["x"]
exit_code: 2
one
two

[image/png, 3 bytes]`, contextscope.RenderEvent(e))
	require.JSONEq(t, `{"a":1}`, contextscope.RenderEvent(contextscope.Event{Data: []byte(`{"a":1}`)}), "an event without content is its data")
}

func TestExcerptNamesWhereTheRestIs(t *testing.T) {
	t.Parallel()
	require.Equal(t, "short", compaction.Excerpt("short", 5, 7))
	text := compaction.Excerpt(strings.Repeat("é", 2000), 1001, 7)
	require.Contains(t, text, "[... 4000 bytes in all: event:7 ...]")
	require.True(t, utf8.ValidString(text))
	require.Less(t, len(text), 1001)
	require.True(t, strings.HasPrefix(text, "éé") && strings.HasSuffix(text, "éé"))
}
