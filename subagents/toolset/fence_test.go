package toolset

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/internal/testkit/fencetest"
	"divisi/subagents/wire"
)

// What a task that was delegated in the background gives back is in the fence.
func TestWordsOfADelegatedTaskStayInTheFence(t *testing.T) {
	t.Parallel()
	fencetest.CheckQuoted(t, func(words string) string {
		h := spec.Handoff{Summary: words, Findings: []string{words}}
		said, err := (&Requests{}).words(t.Context(), wire.Answer{Task: "gen-2", Status: spec.StatusDone, Handoff: h})
		require.NoError(t, err)
		return said
	})
}
