package mcpserver

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPreviewTellsWhatIsMissing(t *testing.T) {
	t.Parallel()
	out := answered[previewed](t, served(t, newPlace(), false), "preview", whichPlan{Plan: "p.yaml"})
	require.Equal(t, []Gate{{Gate: "ok", Command: []string{"true"}}}, out.Gates)
	require.Equal(t, []string{"npm", "ci"}, out.Setup)
	require.Equal(t, []string{"no key"}, out.Refused)
}
