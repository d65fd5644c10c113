package gate

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Limiter keeps the gates that run at once from being more than the machine can carry: they would only slow each other
// down into their timeouts. It may be used from any goroutine.
type Limiter struct{ places *semaphore.Weighted }

// NewLimiter returns a limiter with n places, but never more than the machine has cores; n < 1 means as many as cores.
func NewLimiter(n int) *Limiter {
	cores := runtime.GOMAXPROCS(0)
	if n < 1 || n > cores {
		n = cores
	}
	return &Limiter{semaphore.NewWeighted(int64(n))}
}

// Acquire waits for a place. The caller gives it back by calling release, which may be called more than once. The error is
// the context's, wrapped.
func (l *Limiter) Acquire(ctx context.Context) (release func(), err error) {
	if err := l.places.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("wait for a free core: %w", err)
	}
	return sync.OnceFunc(func() { l.places.Release(1) }), nil
}
