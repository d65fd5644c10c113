package web

import (
	"context"
	"time"
)

// Real is the clock of the machine.
type Real struct{}

// Now implements Clock.
func (Real) Now() time.Time { return time.Now() }

// Wait implements Clock.
func (Real) Wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
