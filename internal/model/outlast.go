package model

import (
	"context"
	"fmt"
	"time"

	"divisi/internal/spec"
)

// outlast waits for a service that is away, after all tries and fallbacks, and begins the next round. It reports false when the
// call fails.
func (c *loop) outlast(ctx context.Context, err *Error) bool {
	if err.Class == RateLimited {
		return c.outwait(ctx, err)
	}
	most := c.policy.Outage
	if c.round == 1 {
		c.end = time.Now().Add(most)
	}
	left := time.Until(c.end)
	if err.Class != Unavailable && err.Class != Overloaded && err.Class != Stalled || most <= 0 {
		return false
	}
	if left <= 0 || err.RetryAfter > left {
		err.Message += fmt.Sprintf(" (try %d, given up after %s)", c.round, most)
		return false
	}
	pause := min(max(outagePause, err.RetryAfter), left)
	until := time.Now().Add(pause)
	c.policy.RateLimit.pauseClocks(until)
	tell(ctx, spec.Wait{
		For: spec.WaitOutage, Model: c.req.own().String(), Try: c.round + 1, Until: until, End: c.end, Why: err.Error(),
	})
	if ended := sleep(ctx, pause); ended != nil {
		*err = Error{Class: Cancelled, Message: ended.Error(), Err: ended, Usage: err.Usage}
		return false
	}
	c.begin(ctx)
	return true
}

// outwait waits until a quota that is used up is free again, and begins the next round. It reports false when the call fails.
func (c *loop) outwait(ctx context.Context, err *Error) bool {
	if c.policy.Quota <= 0 || err.wait || c.policy.RateLimit.free(c.candidates.all) == nil {
		return false
	}
	if c.quotaEnd.IsZero() {
		c.quotaEnd = time.Now().Add(c.policy.Quota)
	}
	if left := c.policy.RateLimit.Await(ctx, c.candidates.all, c.quotaEnd); left != nil {
		if left.Class == Cancelled {
			left.Usage, left.Estimated = err.Usage, err.Estimated
			*err = *left
		}
		return false
	}
	c.begin(ctx)
	return true
}
