package checkout

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Sixteen commits that each have the next one at two places are more than 100,000 submodules.
func TestTheWalkOfSubmodulesIsBounded(t *testing.T) {
	t.Parallel()
	links := func(depth int) map[string]link {
		if depth > maxDepth {
			return nil
		}
		id := fmt.Sprintf("%040d", depth)
		return map[string]link{"a": {Commit: id}, "b": {Commit: id}}
	}
	asked, c := 0, &Content{}
	err := c.walk(t.Context(), nil, links(1), func(_ context.Context, m Module) (map[string]link, error) {
		asked++
		return links(len(m.way) + 1), nil
	})
	require.ErrorContains(t, err, "more than 5000 submodules")
	require.Equal(t, maxModules, asked)
}
