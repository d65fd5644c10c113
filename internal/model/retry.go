package model

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/cenkalti/backoff/v5"

	"divisi/internal/spec"
)

// Retry bounds how failures that may pass are tried again. The zero value means the defaults.
type Retry struct {
	// Tries is the number of sends of one call, the first included; default 5. A held 429 is not counted.
	Tries int
	// First and Max bound the delays, which double and are spread by half; default 1 s and 30 s.
	First, Max time.Duration
	// Time bounds the tries of one call on the clock, holds not counted; default 10 min.
	Time time.Duration
	// HoldTime bounds how long one call is held in all; default 30 min.
	HoldTime time.Duration
}

func (r Retry) withDefaults() Retry {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	if r.Tries <= 0 {
		r.Tries = 5
	}
	def(&r.First, time.Second)
	def(&r.Max, 30*time.Second)
	def(&r.Time, 10*time.Minute)
	def(&r.HoldTime, 30*time.Minute)
	return r
}

// retrier tries again what may pass and holds the process at a quota.
type retrier struct {
	next  Model
	retry Retry
	hold  *Hold
}

// Generate implements Model.
func (m retrier) Generate(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		c := &retrying{retrier: m, req: req, yield: yield, backoff: m.newBackoff()}
		res, err := c.run(ctx)
		switch {
		case err != nil:
			err.Usage = c.wasted
			yield(Event{}, err)
		case res != nil:
			res.Wasted = res.Wasted.Add(c.wasted)
			if req.Config != nil {
				res.Tier = string(req.Config.ServiceTier)
			}
			yield(Event{Result: res}, nil)
		}
	}
}

func (m retrier) newBackoff() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.Multiplier, b.RandomizationFactor = m.retry.First, m.retry.Max, 2, 0.5
	b.Reset()
	return b
}

// retrying is one call and its tries.
type retrying struct {
	retrier
	req     *Request
	yield   func(Event, error) bool
	backoff *backoff.ExponentialBackOff

	try     int
	held    time.Duration // time spent at holds
	limited int           // 429s in a row
	refused int           // signatures refused
	wasted  spec.Usage
	shown   bool // a try that was given up had shown deltas
}

func (c *retrying) run(ctx context.Context) (*Result, *Error) {
	began := time.Now()
	for c.try = 1; ; c.try++ {
		if err := c.hold.refuse(c.req.choice()); err != nil {
			return nil, err
		}
		if err := c.waitHold(ctx); err != nil {
			return nil, err
		}
		res, err := anew(c.next.Generate(ctx, c.req), &c.shown, c.yield)
		if err == nil {
			return res, nil // nil, nil when the consumer broke off
		}
		c.wasted = c.wasted.Add(err.Usage)
		if err.wait {
			if c.held >= c.retry.HoldTime {
				return nil, err
			}
			c.holdAll(err)
			c.try--
			continue
		}
		c.limited = 0
		c.hold.keep(ctx, c.req.choice(), err)
		delay, again := c.decide(err, time.Since(began)-c.held)
		if !again {
			if c.try > 1 {
				err.Message += fmt.Sprintf(" (%d tries)", c.try)
			}
			return nil, err
		}
		tell(ctx, spec.Wait{
			For: spec.WaitRetry, Model: c.req.choice().String(), Try: c.try + 1, Tries: c.tries(err),
			Until: time.Now().Add(delay), Why: err.Error(),
		})
		if err := sleep(ctx, delay); err != nil {
			return nil, cancelled(err)
		}
	}
}

func (c *retrying) waitHold(ctx context.Context) *Error {
	from := time.Now()
	if until, quota := c.hold.held(); until.After(from) {
		tell(ctx, spec.Wait{For: spec.WaitHold, Model: c.req.choice().String(), Until: until, Quota: quota})
	}
	err := c.hold.Wait(ctx)
	c.held += time.Since(from)
	if err != nil {
		return cancelled(err)
	}
	return nil
}

// holdAll stops the whole process until the quota is free. A 429 that names no time waits longer each time.
func (c *retrying) holdAll(err *Error) {
	wait := err.RetryAfter
	if wait <= 0 {
		wait = min(5*time.Second<<min(c.limited, 4), time.Minute)
	}
	c.limited++
	c.hold.Extend(time.Now().Add(max(wait, time.Second)), err.Quota)
}

// decide says whether to try again and after which pause.
func (c *retrying) decide(err *Error, spent time.Duration) (time.Duration, bool) {
	if err.signature {
		return c.resign()
	}
	switch err.Class {
	case Overloaded, Unavailable, Stalled, Truncated:
	default:
		return 0, false
	}
	delay := max(c.backoff.NextBackOff(), err.RetryAfter)
	return delay, c.try < c.tries(err) && spent+delay <= c.retry.Time
}

// tries is how often a call may be sent that fails with err.
func (c *retrying) tries(err *Error) int {
	tries := c.retry.Tries
	for _, most := range []int{err.tries, c.req.tries} {
		if most > 0 {
			tries = min(tries, most)
		}
	}
	return tries
}

// resign answers a refused signature: the same once more, because servers refuse good ones at times, then without the
// signatures, which costs some reasoning and saves the conversation.
func (c *retrying) resign() (time.Duration, bool) {
	c.refused++
	switch c.refused {
	case 1:
		return c.retry.First, true
	case 2:
		c.req = withoutSignatures(c.req)
		return 0, true
	}
	return 0, false
}
