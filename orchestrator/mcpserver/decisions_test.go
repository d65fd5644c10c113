package mcpserver

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/view"
)

// A choice that an agent proposed is an answer to its question.
func TestAChoiceOfAQuestionIsAnAnswer(t *testing.T) {
	t.Parallel()
	p := newPlace()
	p.decisions = []view.Decision{{ID: "a@1", Kind: "question", Choices: []string{"tabs", "spaces"}}}
	s := served(t, p, true)
	answered[done](t, s, "decide", answer{ofRun: ofRun{"r1"}, Decision: "a@1", Option: "spaces"})
	require.Equal(t, act.Decide{Decision: "a@1", Option: "answer", Text: "spaces"}, p.acts[0].Args)
}

func TestADecisionThatThereIsNotIsNamed(t *testing.T) {
	t.Parallel()
	p := newPlace()
	p.actFails = usage.Errorf("run r1 is done")
	s := served(t, p, true)
	said, refused := call(t, s, "decide", answer{ofRun: ofRun{"r1"}, Decision: "b@1", Option: "accept"})
	require.True(t, refused)
	require.Contains(t, said, `decision "b@1" is not open: run r1 is done`)
}
