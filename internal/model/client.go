package model

import (
	"context"
	"iter"
	"time"

	"github.com/cenkalti/backoff/v5"
	"google.golang.org/genai"

	"divisi/internal/spec"
)

// Policy is how a client made by New calls a model. The zero value retries with the defaults, has a rate limit of its own and has
// no budget.
type Policy struct {
	Retry Retry
	// RateLimit is shared by all models of the process; nil means one of its own.
	RateLimit *RateLimit
	// Budget is shared by all models of the process; nil means none.
	Budget *Budget
	// Outage is how long a call continues asking a service that is away; 0 means not beyond its tries.
	Outage time.Duration
	// Quota is how long a call waits for a quota that is used up for long; 0 means not at all.
	Quota time.Duration
}

// Retry bounds how failures that may pass are tried again. The zero value means the defaults.
type Retry struct {
	// Tries is the number of sends of one call, the first included; default 5. A 429 that is waited for is not counted.
	Tries int
	// First and Max bound the delays, which double and are spread by half; default 1 s and 30 s.
	First, Max time.Duration
	// Time bounds the tries of one call on the clock, waits for the rate limit not counted; default 10 min.
	Time time.Duration
	// LimitTime bounds how long one call waits for the rate limit in all; default 30 min.
	LimitTime time.Duration
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
	def(&r.LimitTime, 30*time.Minute)
	return r
}

func (r Retry) backoff() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.Multiplier, b.RandomizationFactor = r.First, r.Max, 2, 0.5
	b.Reset()
	return b
}

// client calls a model until there is an answer or an error that asking again at once would not change.
type client struct {
	base     Model
	policy   Policy
	breakers *breakers
}

// New returns base with retries, fallbacks, continuations, a budget and waits. What comes out is an answer, or an *Error that
// trying again at once would not change. All who share the model share its circuit breakers.
func New(base Model, p Policy) Model {
	if p.RateLimit == nil {
		p.RateLimit = NewRateLimit(nil)
	}
	p.Retry = p.Retry.withDefaults()
	p.RateLimit.Serve(accountsOf(base))
	return &client{base: base, policy: p, breakers: newBreakers()}
}

// Generate implements Model.
func (m *client) Generate(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if req == nil {
			yield(Event{}, Invalidf("no request"))
			return
		}
		c := &loop{client: m, ctx: ctx, req: req, yield: yield}
		defer func() { // also where the consumer stops early: that has cost no more than was reserved
			c.leave()
			if c.stopped && c.hop.reserved != nil {
				c.settle(c.hop.reserved.Usage())
			}
			c.settle(spec.Usage{})
			c.noteEnds()
		}()
		res, err := c.run(ctx)
		switch {
		case c.stopped:
		case err != nil:
			err.Usage, err.Estimated = c.wasted, c.estimated
			yield(Event{}, err)
		default:
			yield(Event{Result: res}, nil)
		}
	}
}

// loop is one request under way. It lives on the goroutine that ranges.
type loop struct {
	*client
	ctx     context.Context //nolint:containedctx // of the request
	req     *Request
	yield   func(Event, error) bool
	stopped bool // the consumer broke off

	candidates candidates
	now        asked
	hop        hop
	// wasted is the cost of everything outside the answer.
	wasted spec.Usage
	// estimated reports that some of it is what was reserved, guessed that the newest send's is.
	estimated, guessed bool
	// ends are those of the sends that are booked.
	ends []Noted
	// void reports that deltas were shown which count no more.
	void bool

	// round counts how often all candidates were asked; end is when the wait for a service that is away ends.
	round int
	end   time.Time
	// quotaEnd is when the wait for a quota is given up.
	quotaEnd time.Time
}

// asked is the candidate that is being asked.
type asked struct {
	Candidate
	req *Request
	// once allows a single send; probe reports that the candidate's breaker is half open. unsigned reports that signatures were
	// refused, and left out.
	once, probe, unsigned bool
	// answer is the answer of the hops before this one.
	answer joined
	hops   int
}

// hop is one answer of a candidate, or a piece of it that ends with a continuation, and its tries.
type hop struct {
	reserved *Reserved
	call     string // names what is reserved in notes
	began    time.Time
	backoff  *backoff.ExponentialBackOff
	pause    time.Duration // before the next send
	try      int
	waited   time.Duration // time spent waiting for the rate limit
	limited  int           // 429s in a row
	refused  int           // signatures refused
	wasted   spec.Usage
	shown    bool // a send has shown deltas
}

// run is the loop. A hop is reserved once; each send waits for the rate limit. What a send gives is classified: it ends the
// call, begins the next hop, is retried, or has the next candidate asked; when all have failed the call may wait for the
// service and begin again.
func (c *loop) run(ctx context.Context) (*Result, *Error) {
	c.begin(ctx)
	for {
		err := c.reserve(ctx)
		if err == nil {
			err = c.wait(ctx)
		}
		if err == nil {
			var res *Result
			res, err = c.send(ctx)
			switch {
			case c.stopped:
				return nil, nil
			case err != nil:
				c.guess(err)
				if c.retry(ctx, err) {
					continue
				}
			default:
				if res, err = c.join(res); res != nil {
					return c.done(ctx, res), nil
				}
			}
		}
		if err == nil {
			continue // the next hop
		}
		if err = c.fallBack(ctx, err); err != nil && !c.outlast(ctx, err) {
			return nil, err
		}
	}
}

// send sends once and shows what arrives. The first delta after a send that was given up reports that the deltas before are void;
// to a caller the hops of a candidate are one answer, so those before this one are shown again.
func (c *loop) send(ctx context.Context) (*Result, *Error) {
	req := c.now.req
	if c.hop.reserved != nil {
		req = bounded(req, c.hop.reserved.Output)
	}
	for ev, err := range c.base.Generate(ctx, req) {
		switch {
		case err != nil:
			return nil, AsError(err)
		case ev.Result != nil:
			return ev.Result, nil
		case !c.show(ev):
			c.stopped = true
			return nil, nil
		}
	}
	return nil, &Error{Class: Truncated, Message: "the answer ended without a result"}
}

func (c *loop) show(ev Event) bool {
	ev.Restart = ev.Restart || c.void
	c.void, c.hop.shown = false, true
	if ev.Restart {
		for i, p := range c.now.answer.parts {
			shown := *p // the original grows with the next hop
			if !c.yield(Event{Delta: &shown, Restart: i == 0}, nil) {
				return false
			}
		}
		ev.Restart = len(c.now.answer.parts) == 0
	}
	return c.yield(ev, nil)
}

// done makes the answer one of the request's own conversation: another model's signatures would be refused there.
func (c *loop) done(ctx context.Context, res *Result) *Result {
	if len(c.candidates.all) > 1 && c.breakers.close(c.now.Candidate) {
		tell(ctx, spec.Wait{For: spec.WaitOver, Model: c.now.String()})
	}
	res.Wasted = c.wasted
	res.Tier, res.Unsigned = c.now.Tier, c.now.unsigned
	if c.now.Model != c.req.Model {
		res.StandIn = c.now.Model
		if stripped := StripSignatures([]*genai.Content{res.Content}); len(stripped) == 1 {
			res.Content = stripped[0]
		}
	}
	return res
}
