package wire

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

// A use as version 12 has it: nothing of its prompt is known to be written to a cache.
func TestUsesOfVersion12(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/spent-12.json")
	require.NoError(t, err)
	var s Spent
	require.NoError(t, json.Unmarshal(data, &s))
	require.Equal(t, Spent{
		Usage: spec.Usage{Calls: 1, Prompt: 2100, Cached: 1800, Output: 40, Thoughts: 10, ToolUse: 5},
		Model: "claude-opus-4-8", Price: "claude-opus-4-8@2026-05-28", Tier: "standard", Took: 1500 * time.Millisecond, Bytes: 7000, Estimated: true,
	}, s)
}
