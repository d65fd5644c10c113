package reports

import (
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/view"
)

func TestRenderRoles(t *testing.T) {
	t.Parallel()
	roles := []view.Role{
		{
			Role: "generator", Usage: spec.Usage{Calls: 120, Prompt: 1_200_000, Cached: 900_000, Output: 40_000, Thoughts: 2000},
			Reuse: 0.75, Cost: 1234 * spec.Dollar / 1000,
		},
		{Role: "reader\x1b[2J", Usage: spec.Usage{Calls: 2, Prompt: 900, Output: 10}, Cost: spec.Dollar / 2500},
		{Role: "tester", Usage: spec.Usage{Calls: 1, Prompt: 900}, Unpriced: 900},
		{Role: "writer", Usage: spec.Usage{Calls: 1, Prompt: 900}, Cost: spec.Dollar / 2, Unpriced: 900},
	}
	var b strings.Builder
	writeRoles(&b, roles, 100)
	require.NotContains(t, b.String(), "\x1b")
	lines := strings.Split(strings.TrimPrefix(b.String(), "\n"), "\n")
	require.Equal(t, []string{"role", "calls", "prompt", "cached", "reuse", "output", "cost"}, strings.Fields(lines[0]))
	require.Equal(t, []string{"generator", "120", "1.20M", "900k", "75%", "42.0k", "$1.23"}, strings.Fields(lines[1]))
	require.True(t, strings.HasSuffix(lines[2], "<$0.01"), lines[2])
	require.True(t, strings.HasSuffix(lines[3], "  unpriced"), lines[3])
	require.True(t, strings.HasSuffix(lines[4], "$0.50, 900 tokens unpriced"), lines[4])
	for _, l := range lines[:5] {
		require.Equal(t, lipgloss.Width(lines[0]), lipgloss.Width(l), "the columns are flush right")
	}
	b.Reset()
	writeRoles(&b, roles, 30)
	for l := range strings.Lines(b.String()) {
		require.LessOrEqual(t, lipgloss.Width(strings.TrimSuffix(l, "\n")), 30)
	}
}
