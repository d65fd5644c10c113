package memory

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/contextscope"
	"divisi/contextscope/compile"
	"divisi/internal/spec"
)

func TestRecall(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		"a.md": "# Header parsing\nparseHTTPHeader keeps the case.", "b.md": "Chance: a header.", "c.md": "Nothing of the sort.",
	})
	m := p.open()
	got, notes := m.Recall(t.Context(), "Change how the HTTP header is parsed", 500)
	require.Empty(t, notes)
	require.Equal(t, []contextscope.Recalled{
		{Name: "a", Title: "Header parsing", Text: "# Header parsing\nparseHTTPHeader keeps the case."},
	}, got, "one word in common is chance")
	got, _ = m.Recall(t.Context(), "header", 500)
	require.Len(t, got, 2, "a query of one word asks for no more")
	for _, none := range []int{0, -1, 10} {
		got, notes = m.Recall(t.Context(), "header", none)
		require.Empty(t, got)
		require.Empty(t, notes)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, notes = m.Recall(ctx, "header", 500)
	require.Empty(t, got)
	require.Len(t, notes, 1)
	require.Contains(t, notes[0], "nothing was recalled: search the memory: ")
}

func TestRecallIsBounded(t *testing.T) {
	t.Parallel()
	notes := map[string]string{}
	for i := range 20 {
		notes[fmt.Sprintf("n%02d.md", i)] = "lease token\n" + strings.Repeat("é filler of a long note about the lease\n", 40)
	}
	m := newPlace(t, notes).open()
	for _, most := range []int{50, 100, 333, 500, 2000} {
		got, _ := m.Recall(t.Context(), "lease token", most)
		require.NotEmpty(t, got)
		require.LessOrEqual(t, len(got), recallHits)
		size := 0
		for _, r := range got {
			size += len(r.Name) + len(r.Title) + len(r.Text)
			require.LessOrEqual(t, len(r.Text), recallNote)
			require.True(t, strings.HasSuffix(r.Text, "…"))
			require.NotContains(t, r.Text, "\ufffd")
		}
		require.LessOrEqual(t, size, most*4)
	}
}

func TestRecallQuery(t *testing.T) {
	t.Parallel()
	user := func(kind contextscope.Kind, parts ...*genai.Part) contextscope.Event {
		return contextscope.Event{Kind: kind, Content: &genai.Content{Role: genai.RoleUser, Parts: parts}}
	}
	call := func(name string, args map[string]any) *genai.Part {
		return &genai.Part{FunctionCall: &genai.FunctionCall{Name: name, Args: args}}
	}
	brief := compile.Brief{Task: spec.Task{Title: "The title", Brief: "The brief " + strings.Repeat("b", 5000)}}
	events := contextscope.Session{
		user(contextscope.KindBrief, genai.NewPartFromText("the whole brief")),
		user(contextscope.KindTurn, genai.NewPartFromText("old words"), call("read_file", map[string]any{"path": "old.go"})),
		user(contextscope.KindTool, genai.NewPartFromText("old result")),
		{Kind: contextscope.KindTurn, Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{
			genai.NewPartFromText("own words"), call("read_file", map[string]any{"path": "new.go"}), call("search", map[string]any{"path": 7}), nil,
		}}},
		user(contextscope.KindTool, &genai.Part{FunctionResponse: &genai.FunctionResponse{
			Response: map[string]any{"output": "shown " + strings.Repeat("s", 5000), "error": "wrong", "exit_code": 1.0},
		}}),
		user(contextscope.KindControl, genai.NewPartFromText("a reminder")),
		user(contextscope.KindSteering, genai.NewPartFromText("a person's word")),
		{Kind: contextscope.KindUsage},
	}
	got := RecallQuery(brief, events, []string{"set.go"})
	require.Equal(t, "The title\nnew.go set.go\n\nwrong\nshown "+strings.Repeat("s", 194)+"\na person's word\nThe brief "+strings.Repeat("b", 690), got)
	require.Equal(t, got, RecallQuery(brief, events, []string{"set.go"}))
	first := RecallQuery(brief, events[:1], nil)
	require.True(t, strings.HasPrefix(first, "The title\n\n\nThe brief"), first)
	require.Less(t, len(RecallQuery(compile.Brief{}, events, []string{strings.Repeat("p", 9999)})), 2000)
}
