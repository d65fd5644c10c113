package model

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// Hold stops every call of the process while a shared quota is exhausted: the quota belongs to the project, not to the
// agent that happened to hit it. It is safe for concurrent use.
type Hold struct {
	observe func(until time.Time, quota string)

	mu    sync.Mutex
	until time.Time
	quota string
}

// NewHold makes a hold. observe, which may be nil, is told whenever the end moves; it runs on the goroutine of the call
// that met the quota and must not block.
func NewHold(observe func(until time.Time, quota string)) *Hold {
	if observe == nil {
		observe = func(time.Time, string) {}
	}
	return &Hold{observe: observe}
}

// Extend holds all calls until a time. It never shortens. Moves under a second are not observed: many calls in flight
// meet the same quota at nearly the same time.
func (h *Hold) Extend(until time.Time, quota string) {
	h.mu.Lock()
	moved := until.Sub(h.until)
	if moved > 0 {
		h.until, h.quota = until, quota
	}
	h.mu.Unlock()
	if moved >= time.Second {
		h.observe(until, quota)
	}
}

// Until is when the hold ends and the quota that caused it; a time in the past means that nothing is held.
func (h *Hold) Until() (time.Time, string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.until, h.quota
}

// Wait returns when nothing is held any more, or with the context's error. Waiters leave spread over a tenth of their
// wait, two seconds at most, so that the end of a hold is not the next stampede.
func (h *Hold) Wait(ctx context.Context) error {
	for {
		until, _ := h.Until()
		left := time.Until(until)
		if left <= 0 {
			return ctx.Err()
		}
		spread := min(left/10, 2*time.Second) + 1
		if err := sleep(ctx, left+rand.N(spread)); err != nil { //nolint:gosec // spreading a stampede needs no secrecy
			return err
		}
	}
}

// sleep waits, or returns the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
