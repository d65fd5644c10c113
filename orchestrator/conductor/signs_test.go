package conductor

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSigns: what a worker reports is a sign of life of an attempt that is on the queue, or nothing.
func TestSigns(t *testing.T) {
	t.Parallel()
	var s signs
	begun, later := time.Unix(1, 0), time.Unix(2, 0)
	require.False(t, s.renew([]byte("task.reader.r.one--1"), later), "before any is on the queue")
	s.begin("task.reader.r.one--1", begun)
	for i := range 1000 {
		require.False(t, s.renew(fmt.Appendf(nil, "task.reader.r.%d--1", i), later))
	}
	require.Equal(t, begun, s.newest("task.reader.r.one--1"))
	require.True(t, s.renew([]byte("task.reader.r.one--1"), later))
	require.Equal(t, later, s.newest("task.reader.r.one--1"))
	s.begin("task.reader.r.two--1", begun)
	s.keep(map[string]bool{"task.reader.r.two--1": true})
	require.Len(t, s.at, 1)
	require.Zero(t, s.newest("task.reader.r.one--1"))
}
