package gate

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLimiterHoldsItsBound(t *testing.T) {
	t.Parallel()
	cores := runtime.GOMAXPROCS(0)
	limiter := NewLimiter(100 * cores)
	var now, most atomic.Int64
	var group sync.WaitGroup
	for range 50 * cores {
		group.Go(func() {
			release, err := limiter.Acquire(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			defer release()
			n := now.Add(1)
			for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
			}
			runtime.Gosched()
			now.Add(-1)
		})
	}
	group.Wait()
	require.LessOrEqual(t, most.Load(), int64(cores))
	require.Positive(t, most.Load())
}

func TestLimiterHearsTheContext(t *testing.T) {
	t.Parallel()
	limiter := NewLimiter(1)
	release, err := limiter.Acquire(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = limiter.Acquire(ctx)
	require.ErrorIs(t, err, context.Canceled)
	release()
	release()
	again, err := limiter.Acquire(t.Context())
	require.NoError(t, err)
	again()
}
