package command

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/internal/model"
)

func TestReadOfAMind(t *testing.T) {
	t.Parallel()
	calls := []*genai.FunctionDeclaration{{Name: "dispatch"}, {Name: "ask"}}
	for name, c := range map[string]struct {
		words string
		calls []*genai.FunctionDeclaration
		names []string
		fault string
	}{
		"bare":             {`{"calls": [{"name": "ask", "arguments": {"question": "?"}}]}`, calls, []string{"ask"}, ""},
		"among words":      {"Here:\n```json\n{\"calls\": [{\"name\": \"ask\"}, {\"name\": \"dispatch\"}]}\n```\nDone.", calls, []string{"ask", "dispatch"}, ""},
		"words alone":      {"I would rename it.", calls, nil, "the answer has no JSON object"},
		"cut":              {`{"calls": [{"name": "ask", "arg}`, calls, nil, "the answer is no JSON object of the form asked for"},
		"another schema":   {`{"plan": {"tasks": []}}`, calls, nil, "the answer has no calls"},
		"no list":          {`{"calls": {"name": "ask"}}`, calls, nil, "the answer is no JSON object of the form asked for"},
		"unknown":          {`{"calls": [{"name": "land"}]}`, calls, nil, `unknown call "land": the calls are dispatch, ask`},
		"nothing":          {"", calls, nil, "the answer has no JSON object"},
		"words are wanted": {"A summary.", nil, []string{""}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts, fault := read(c.words, c.calls)
			if c.fault != "" {
				require.Contains(t, fault, c.fault)
				return
			}
			require.Empty(t, fault)
			require.Len(t, parts, len(c.names))
			for i, p := range parts {
				if c.names[i] == "" {
					require.Equal(t, c.words, p.Text)
					continue
				}
				require.Equal(t, c.names[i], p.FunctionCall.Name)
				require.NotEmpty(t, p.FunctionCall.ID)
			}
		})
	}
}

func FuzzReadOfAMind(f *testing.F) {
	calls := []*genai.FunctionDeclaration{{Name: "ask"}}
	f.Add(`x {"calls": [{"name": "ask", "arguments": {"a": [1]}}]} y`)
	f.Add("}{")
	f.Fuzz(func(t *testing.T, words string) {
		parts, fault := read(words, calls)
		require.NotEqual(t, fault == "", len(parts) == 0)
	})
}

// The program is told the conversation in its order, without thoughts, and what it can answer with.
func TestTurnOfAMind(t *testing.T) {
	t.Parallel()
	turn := turnOf(&model.Request{
		Config: &genai.GenerateContentConfig{
			SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: "You lead."}}},
			Tools:             []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "dispatch"}}}},
		},
		Contents: []*genai.Content{
			{Role: genai.RoleUser, Parts: []*genai.Part{{Text: "the goal"}}},
			{Role: genai.RoleModel, Parts: []*genai.Part{
				{Text: "hm", Thought: true}, {FunctionCall: &genai.FunctionCall{Name: "dispatch", Args: map[string]any{"tasks": 1}}},
			}},
			{Role: genai.RoleUser, Parts: []*genai.Part{{FunctionResponse: &genai.FunctionResponse{
				Name: "dispatch", Response: map[string]any{"output": "accepted"},
			}}}},
		},
	})
	require.Equal(t, "You lead.", turn.Instruction)
	require.Equal(t, []Said{
		{By: "user", Text: "the goal"},
		{By: "model", Call: "dispatch", Content: map[string]any{"tasks": 1}},
		{By: "user", Call: "dispatch", Content: map[string]any{"output": "accepted"}},
	}, turn.Conversation)
	require.Equal(t, "dispatch", turn.Calls[0].Name)
	require.Contains(t, turn.Answer, `{"calls": [{"name": "...", "arguments": {...}}]}`)
}
