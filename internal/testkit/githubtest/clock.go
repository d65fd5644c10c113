package githubtest

import (
	"context"
	"sync"
	"time"
)

// Clock is a time that a wait advances.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that begins at a time.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now is the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Wait advances the time, and returns at once.
func (c *Clock) Wait(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(max(d, 0))
	return ctx.Err()
}
