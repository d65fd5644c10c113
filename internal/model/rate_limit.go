package model

import (
	"context"
	"fmt"
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

// refuse is the error of a call whose model's quota is known to be used up; nil for any other.
func (h *Hold) refuse(c Candidate) *Error {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.used[c.String()]
	if left := time.Until(w.Until); left > 0 {
		return &Error{Class: RateLimited, Quota: w.Quota, Message: w.String(), RetryAfter: left}
	}
	return nil
}

// keep remembers a quota that is used up for longer than a call waits.
func (h *Hold) keep(ctx context.Context, c Candidate, err *Error) {
	if err.Class != RateLimited || err.wait || err.RetryAfter <= maxShortWait {
		return
	}
	w := spec.Wait{For: spec.WaitQuota, Model: c.String(), Quota: err.Quota, Until: time.Now().Add(err.RetryAfter)}
	h.mu.Lock()
	h.used[w.Model] = w
	h.mu.Unlock()
	err.Message = fmt.Sprintf("%s: %s", w, err.Message)
	tell(ctx, w)
}

type observerKey struct{}

// WithObserver returns a context whose calls tell observe what they wait for, on the goroutine of the call.
func WithObserver(ctx context.Context, observe func(spec.Wait)) context.Context {
	return context.WithValue(ctx, observerKey{}, observe)
}

func tell(ctx context.Context, w spec.Wait) {
	if observe, ok := ctx.Value(observerKey{}).(func(spec.Wait)); ok {
		observe(w)
	}
}
