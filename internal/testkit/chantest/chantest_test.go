package chantest

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// failing notes that a test has failed, and goes on.
type failing struct {
	testing.TB

	failed bool
}

func (f *failing) Helper()               {}
func (f *failing) Fatalf(string, ...any) { f.failed = true }

func TestNothingIsWaitedForForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, from := &failing{TB: t}, make(chan int, 1)
		from <- 7
		require.Equal(t, 7, Next(f, from))
		require.False(t, f.failed)
		require.Zero(t, Next(f, from))
		require.True(t, f.failed)
		close(from)
		require.Zero(t, Next(t, from))
	})
}
