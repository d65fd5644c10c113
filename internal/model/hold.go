package model

import (
	"context"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"divisi/internal/spec"
)

// Hold stops every call of the process while a shared quota is exhausted: the quota belongs to the project, not to the agent that
// happened to hit it. It knows too which models are not asked, because a quota of theirs is used up for long. It is safe for
// concurrent use.
type Hold struct {
	mu    sync.Mutex
	until time.Time
	quota string
	// away is until when calls wait for services that are away.
	away time.Time
	used map[string]spec.Wait // by model and tier
}

// NewHold makes a hold. used are the quotas, by model, that are known to be used up.
func NewHold(used map[string]spec.Wait) *Hold {
	h := &Hold{used: map[string]spec.Wait{}}
	maps.Copy(h.used, used)
	return h
}

// Extend holds all calls until a time. It never shortens.
func (h *Hold) Extend(until time.Time, quota string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if until.After(h.until) {
		h.until, h.quota = until, quota
	}
}

// Until is when the hold ends, or the wait for a service that is away, and the quota that caused it; a time in the past means
// that no call waits.
func (h *Hold) Until() (time.Time, string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.away.After(h.until) {
		return h.away, ""
	}
	return h.until, h.quota
}

// held is when the hold of all calls ends.
func (h *Hold) held() (time.Time, string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.until, h.quota
}

// stand lets the clocks of agents stand still until a time, while one of them waits for a service that is away.
func (h *Hold) stand(until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if until.After(h.away) {
		h.away = until
	}
}

// Wait returns when nothing is held any more, or with the context's error. Waiters leave spread over a tenth of their
// wait, two seconds at most, so that the end of a hold is not the next stampede.
func (h *Hold) Wait(ctx context.Context) error {
	for {
		until, _ := h.held()
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
