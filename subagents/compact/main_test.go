package compact

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"divisi/contextscope"
	"divisi/contextscope/compaction"
	"divisi/internal/model"
	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/genai"
)

// The Google client brings OpenCensus, whose init starts a goroutine that never ends.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// session is an agent's session in the making, with the request's size as an agent would estimate it.
type session struct{ events []contextscope.Event }

func (s *session) add(kind contextscope.Kind, content *genai.Content, data any) {
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	s.events = append(s.events, contextscope.Event{
		V: contextscope.EventVersion, ID: fmt.Sprint(len(s.events) + 1), Seq: len(s.events) + 1, Kind: kind, Agent: "t/1",
		Content: content, Data: raw,
	})
}

// grow adds turns that read about 250 tokens each; the first of a session edits a file.
func (s *session) grow(turns int) {
	if len(s.events) == 0 {
		s.add(contextscope.KindBrief, genai.NewContentFromText("Task: t\nRename Foo.", genai.RoleUser), nil)
		s.call(spec.ToolEditFile, map[string]any{"path": "a.go"}, map[string]any{"output": "ok"})
	}
	for range turns {
		s.call(spec.ToolReadFile, map[string]any{"path": "b.go"}, map[string]any{"output": strings.Repeat("code ", 200)})
	}
}

func (s *session) call(name string, args, result map[string]any) {
	id := fmt.Sprint("c", len(s.events))
	s.add(contextscope.KindTurn, &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{
		{FunctionCall: &genai.FunctionCall{ID: id, Name: name, Args: args}},
	}}, nil)
	s.add(contextscope.KindTool, &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{
		{FunctionResponse: &genai.FunctionResponse{ID: id, Name: name, Response: result}},
	}}, nil)
}

// take appends what a boundary returned, as an agent does.
func (s *session) take(records []contextscope.Compaction, usage []spec.Usage) {
	for _, r := range records {
		s.add(contextscope.KindCompaction, nil, r)
	}
	for _, u := range usage {
		s.add(contextscope.KindUsage, nil, u)
	}
}

const window = 10_000

// now is the session as a boundary sees it: a fixed 100 tokens stand before the history.
func (s *session) now() Session {
	return Session{Events: s.events, Tokens: 100 + compaction.ShownTokens(s.events), Window: window}
}

func (s *session) job(t *testing.T) compaction.Job {
	t.Helper()
	job, ok := compaction.Plan(s.events, compaction.PlanInput{
		Rules: spec.ContextRules{}.WithDefaults().Compaction, Trigger: contextscope.TriggerShare,
	})
	require.True(t, ok)
	return job
}

func meta() model.Meta { return model.Meta{Run: "r", Task: "t", Attempt: 1, Turn: 1} }

const goodAnswer = "Let me see.\n" + goodJSON

const goodJSON = `{"overall_goal": "Rename Foo.", "key_knowledge": "b.go is code", "file_system_state": "a.go: edited", ` +
	`"recent_actions": "read b.go", "current_plan": [{"status": "todo", "text": "go on"}]}`

// quoteYAML makes a text fit for a script: JSON is YAML.
func quoteYAML(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
