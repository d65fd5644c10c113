package bus

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStoreShare(t *testing.T) {
	t.Parallel()
	for store, want := range map[int64]int64{64 << 20: 32 << 20, 1 << 30: 512 << 20, 4 << 30: 1 << 30, 80 << 30: 10 << 30} {
		require.Equal(t, want, storeShare(store))
	}
}

func TestAllowance(t *testing.T) {
	t.Parallel()
	var a allowance
	now, puts := time.Unix(1000, 0), 0
	why, first := "", false
	put := func(subject string) bool {
		why, first = a.put(subject, 10, 100, now)
		return why == ""
	}
	for put("obj.n.x") {
		puts++
	}
	require.Equal(t, 10, puts)
	require.True(t, first)
	require.False(t, put("cache.n.x"))
	require.False(t, first)
	for puts = 0; put("ev.r.a.w.g.t.1"); puts++ {
	}
	require.Equal(t, 10, puts, "events have as much again")
	now = now.Add(time.Hour)
	require.False(t, put("obj.n.x"))
	require.False(t, first, "it was refused within the last hour")
	now = now.Add(2 * time.Minute)
	require.True(t, put("obj.n.x"))
	now = now.Add(2 * time.Hour)
	for puts = 0; put("obj.n.x"); puts++ {
	}
	require.Equal(t, 10, puts, "at most a share is there at once")
	require.True(t, first, "that was long ago")
}
