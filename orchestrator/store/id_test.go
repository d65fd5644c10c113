package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRunsSortByTheirTime(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 10, 15, 0, 0, time.UTC)
	last := ""
	for step := range 1000 {
		id := NewID(at.Add(time.Duration(step) * 1700 * time.Microsecond))
		require.Greater(t, id, last)
		require.Len(t, id, len("20261121-101500-1f2e"))
		last = id
	}
	require.Equal(t, "20261121-101500-0000", NewID(at))
	require.Equal(t, "20261121-101500-ffff", NewID(at.Add(time.Second-1)))
}
