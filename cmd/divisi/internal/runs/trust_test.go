package runs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/needs"
	"divisi/orchestrator/settings"
)

// A form may render Markdown: text of a repository is in a block that shows it unchanged, whole or not at all.
func TestAQuestionIsABlockOrNone(t *testing.T) {
	t.Parallel()
	long := "setup, with the network: " + strings.Repeat("x", 300) + " && rm -rf ."
	about := &needs.Trust{Repo: "/r\n# yes\x1b[2J", Requests: []string{"env: `**", long}, Settings: &settings.Settings{Project: spec.Project{
		Gates: []spec.Gate{{Name: "a", Command: []string{"echo", "\n\n[yes](http://example.org)\u202e"}}},
	}}}
	about.Changes = about.Requests
	q := (&Trust{Trust: about}).Question()
	head, block, _ := strings.Cut(q, "\n\n")
	require.Equal(t, "A coding agent asks Divisi to start or continue work. This needs your yes:", head)
	for line := range strings.Lines(block) {
		require.True(t, strings.HasPrefix(line, "    "), "%q", line)
		require.LessOrEqual(t, len(line), 4+questionWidth+1)
	}
	require.Contains(t, strings.ReplaceAll(q, "\n    ", ""), long)
	require.Contains(t, block, `gate, confined: "a: echo '\n\n[yes](http://example.org)\u202e'"`)
	require.NotContains(t, q, "\x1b")

	for range 100 {
		about.Requests = append(about.Requests, strings.Repeat("y", 80))
	}
	require.Empty(t, (&Trust{Trust: about}).Question(), "a list that no form shows whole is for a terminal")
}
