package limit

import (
	"context"
	"sync"
	"time"
)

// RateLimit reports whether the model's service has asked every caller to wait. Such time counts neither as
// idleness nor against an attempt's wall clock.
type RateLimit interface {
	// Until is when the wait ends, and why there is one; a time in the past means that there is none.
	Until() (end time.Time, quota string)
}

// limitedFor returns how long the wait lasts from now; 0 when there is none.
func limitedFor(r RateLimit) time.Duration {
	if r == nil {
		return 0
	}
	end, _ := r.Until()
	return max(0, time.Until(end))
}

// LimitedBetween returns how much of the time from begin until now was a wait, by the newest wait.
func LimitedBetween(r RateLimit, begin time.Time) time.Duration {
	if r == nil {
		return 0
	}
	end, _ := r.Until()
	if now := time.Now(); end.After(now) {
		end = now
	}
	return max(0, end.Sub(begin))
}

// limitGrace is how long a deadline that is met during a rate limit waits after it, until PutOff has settled how long the limit
// was.
const limitGrace = time.Minute

// Deadline ends a context with a cause when its time is over, but never during a rate limit. It is safe for concurrent use.
type Deadline struct {
	limit  RateLimit
	cancel context.CancelCauseFunc
	cause  error

	mu    sync.Mutex
	timer *time.Timer
	end   time.Time
	// suspended reports that the clock is stopped.
	suspended bool
	// since is set where rate limits put the end off by themselves; forgiven is their sum.
	since    time.Time
	forgiven time.Duration
}

// NewDeadline returns a context that ends with cause after left. The caller calls Stop.
func NewDeadline(ctx context.Context, left time.Duration, cause error, limit RateLimit) (context.Context, *Deadline) {
	ctx, cancel := context.WithCancelCause(ctx)
	d := &Deadline{limit: limit, cancel: cancel, cause: cause, end: time.Now().Add(left)}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer = time.AfterFunc(left, d.fire)
	return ctx, d
}

// ExcludeLimits leaves the time of rate limits from now on out.
func (d *Deadline) ExcludeLimits() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.since = time.Now()
}

// fire ends the context, or checks again after the rate limit.
func (d *Deadline) fire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.suspended {
		return
	}
	if limited := limitedFor(d.limit); limited > 0 {
		d.timer.Reset(limited + limitGrace)
		return
	}
	if !d.since.IsZero() {
		limited := LimitedBetween(d.limit, d.since)
		d.end, d.forgiven = d.end.Add(max(0, limited-d.forgiven)), max(limited, d.forgiven)
	}
	if left := time.Until(d.end); left > 0 {
		d.timer.Reset(left)
		return
	}
	d.cancel(d.cause)
}

// PutOff moves the end further away.
func (d *Deadline) PutOff(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end = d.end.Add(by)
	d.timer.Reset(time.Until(d.end))
}

// Restart moves the end to left from now.
func (d *Deadline) Restart(left time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end = time.Now().Add(left)
	if !d.since.IsZero() {
		d.since, d.forgiven = time.Now(), 0
	}
	d.timer.Reset(left)
}

// Suspend stops the clock until resume is called.
func (d *Deadline) Suspend() (resume func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	began := time.Now()
	d.suspended = true
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.suspended = false
		d.end = d.end.Add(time.Since(began))
		d.timer.Reset(time.Until(d.end))
	}
}

// End ends the context now, with a cause of the caller's.
func (d *Deadline) End(cause error) { d.cancel(cause) }

// Stop releases the context. Its timer may fire once more, which does nothing to a context that has ended.
func (d *Deadline) Stop() {
	d.cancel(nil)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer.Stop()
}
