package model

import (
	"context"
	"fmt"
	"time"

	"divisi/internal/spec"
)

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
