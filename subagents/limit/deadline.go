package limit

import (
	"context"
	"sync"
	"time"
)

// Hold tells whether the model's service has asked every caller to wait. Such time counts neither as
// idleness nor against an attempt's wall clock.
type Hold interface {
	// Until is when the wait ends, and why there is one; a time in the past means that there is none.
	Until() (end time.Time, quota string)
}

// heldFor returns how long the wait goes on from now; 0 when there is none.
func heldFor(h Hold) time.Duration {
	if h == nil {
		return 0
	}
	end, _ := h.Until()
	return max(0, time.Until(end))
}

// HeldBetween returns how much of the time from begin until now was a wait, by the newest wait.
func HeldBetween(h Hold, begin time.Time) time.Duration {
	if h == nil {
		return 0
	}
	end, _ := h.Until()
	if now := time.Now(); end.After(now) {
		end = now
	}
	return max(0, end.Sub(begin))
}

// holdGrace is what a deadline that is met during a hold gives after it, until PutOff has settled how long the hold was.
const holdGrace = time.Minute

// Deadline ends a context with a cause when its time is over, but never during a hold. It is safe for concurrent use.
type Deadline struct {
	hold   Hold
	cancel context.CancelCauseFunc
	cause  error

	mu    sync.Mutex
	timer *time.Timer
	end   time.Time
	// suspended says that the clock stands still.
	suspended bool
	// since is set where holds put the end off by themselves; forgiven is what they have come to.
	since    time.Time
	forgiven time.Duration
}

// NewDeadline returns a context that ends with cause after left. The caller calls Stop.
func NewDeadline(ctx context.Context, left time.Duration, cause error, hold Hold) (context.Context, *Deadline) {
	ctx, cancel := context.WithCancelCause(ctx)
	d := &Deadline{hold: hold, cancel: cancel, cause: cause, end: time.Now().Add(left)}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer = time.AfterFunc(left, d.fire)
	return ctx, d
}

// ForgiveHolds lets the time of holds from now on not count.
func (d *Deadline) ForgiveHolds() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.since = time.Now()
}

// fire ends the context, or looks again after the hold.
func (d *Deadline) fire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.suspended {
		return
	}
	if held := heldFor(d.hold); held > 0 {
		d.timer.Reset(held + holdGrace)
		return
	}
	if !d.since.IsZero() {
		held := HeldBetween(d.hold, d.since)
		d.end, d.forgiven = d.end.Add(max(0, held-d.forgiven)), max(held, d.forgiven)
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
