package conductor

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/request"
)

// TestCaused: one worker that tells other things of itself without end has so many events appended, others theirs.
func TestCaused(t *testing.T) {
	t.Parallel()
	c, now := caused{}, time.Unix(0, 0)
	for range mostCaused {
		require.NoError(t, c.one("liar", now))
	}
	err := c.one("liar", now.Add(causedFor-1))
	require.ErrorAs(t, err, new(*request.RefusedError), "the run goes on")
	require.ErrorContains(t, err, "60 times within 10m0s")
	require.NoError(t, c.one("w1", now))
	require.NoError(t, c.one("liar", now.Add(causedFor)))
	for i := range 1000 {
		require.NoError(t, c.one(fmt.Sprint("w", i), now.Add(causedFor*time.Duration(i+2))))
	}
	require.Len(t, c, 1, "what is long ago is forgotten")
}
