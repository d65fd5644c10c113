package model

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"google.golang.org/genai"

	"divisi/internal/spec"
)

// reserve begins a hop, or a further send of one: it checks what must not be sent, and takes the most that the send can use from
// the budget, for which it may wait.
func (c *loop) reserve(ctx context.Context) *Error {
	if c.hop.try == 0 {
		if c.now.hops == 0 {
			if err := Validate(c.now.req); err != nil {
				return err
			}
		}
		c.hop = hop{began: time.Now(), backoff: c.policy.Retry.backoff(), try: 1}
		c.now.hops++
	}
	if c.policy.Budget == nil || c.hop.reserved != nil {
		return nil
	}
	var body bytes.Buffer
	write(c.now.req, &body)
	r, err := c.policy.Budget.Reserve(ctx, Need{
		Of: fmt.Sprint(c.req.Meta.Task, c.req.Meta.Attempt, c.req.Meta.Purpose), Model: c.now.Model, Tier: c.now.Tier,
		Body: body.Bytes(), Output: mostOutput(c.now.req), Least: leastOutput,
	}, func(why string) { tell(ctx, spec.Wait{For: spec.WaitBudget, Model: c.now.String(), Why: why}) })
	if err != nil {
		return err
	}
	c.hop.reserved = &r
	if note, noted := ctx.Value(noteKey{}).(func(Noted) error); noted {
		c.hop.call = rand.Text()
		if err := note(Noted{Call: c.hop.call, Reserved: &r, Booked: r.Money, Model: c.now.Model, Tier: c.now.Tier}); err != nil {
			c.settle(spec.Usage{})
			return &Error{Class: Cancelled, Message: "the call could not be noted, and is not made: " + err.Error(), Err: err}
		}
	}
	return nil
}

// settle books what a send has used, before the next one is made.
func (c *loop) settle(used spec.Usage) {
	if c.hop.reserved != nil {
		booked := c.policy.Budget.Settle(c.hop.reserved, used, c.now.Tier, c.guessed)
		c.ends = append(c.ends, Noted{Call: c.hop.call, Booked: booked, Model: c.now.Model, Tier: c.now.Tier})
		c.hop.reserved, c.guessed = nil, false
	}
}

// guess completes the use of a send that broke off before the service had told it: it is at most what was reserved.
func (c *loop) guess(err *Error) {
	r := c.hop.reserved
	if r == nil || err.Usage.Calls == 0 {
		return
	}
	switch err.Class {
	case Stalled, Unavailable, Overloaded, Cancelled:
	case Truncated:
		if err.tries > 0 { // the service has ended it
			return
		}
	default:
		return
	}
	c.estimated, c.guessed = true, true
	err.Usage.Prompt, err.Usage.Output = cmp.Or(err.Usage.Prompt, r.Prompt), max(err.Usage.Output, r.Output-err.Usage.Thoughts)
}

// wait waits out the pause before a further send and the rate limit of all calls. A model whose quota is used up is not asked.
func (c *loop) wait(ctx context.Context) *Error {
	if c.hop.try > 1 {
		if err := sleep(ctx, c.hop.pause); err != nil {
			return cancelled(err)
		}
	}
	limit := c.policy.RateLimit
	if err := limit.Refuse(c.now.Candidate); err != nil {
		return err
	}
	from := time.Now()
	if until, quota, _ := limit.end(); until.After(from) {
		tell(ctx, spec.Wait{For: spec.WaitLimit, Model: c.now.String(), Until: until, Quota: quota, Account: limit.Account()})
	}
	err := limit.Wait(ctx)
	c.hop.waited += time.Since(from)
	if err != nil {
		return cancelled(err)
	}
	return nil
}

// retry reports whether the hop is sent once more after a failure.
func (c *loop) retry(ctx context.Context, err *Error) bool {
	h := &c.hop
	h.wasted = h.wasted.Add(err.Usage)
	if err.Usage != (spec.Usage{}) { // it is paid for: the next send is another one
		c.settle(err.Usage)
	}
	if err.wait {
		if h.waited >= c.policy.Retry.LimitTime {
			return false
		}
		c.waitAll(err)
		h.pause = 0
		c.void = c.void || h.shown
		return true
	}
	h.limited = 0
	c.policy.RateLimit.keep(ctx, c.now.Candidate, err)
	delay, again := c.decide(err, time.Since(h.began)-h.waited)
	if !again {
		if h.try > 1 {
			err.Message += fmt.Sprintf(" (%d tries)", h.try)
		}
		return false
	}
	h.try, h.pause = h.try+1, delay
	c.void = c.void || h.shown
	tell(ctx, spec.Wait{
		For: spec.WaitRetry, Model: c.now.String(), Try: h.try, Tries: c.tries(err), Until: time.Now().Add(delay),
		Why: err.Error(),
	})
	return true
}

// waitAll stops the whole process until the quota is free.
func (c *loop) waitAll(err *Error) {
	c.policy.RateLimit.holdFor(c.now.Candidate, err, c.hop.limited)
	c.hop.limited++
}

// decide reports whether to send again, and after which pause.
func (c *loop) decide(err *Error, spent time.Duration) (time.Duration, bool) {
	if err.signature {
		return c.resign()
	}
	switch err.Class {
	case Overloaded, Unavailable, Stalled, Truncated:
	default:
		return 0, false
	}
	delay := max(c.hop.backoff.NextBackOff(), err.RetryAfter)
	return delay, c.hop.try < c.tries(err) && spent+delay <= c.policy.Retry.Time
}

// tries is how often a hop may be sent that fails with err.
func (c *loop) tries(err *Error) int {
	switch tries := c.policy.Retry.Tries; {
	case c.now.once:
		return 1
	case err.tries > 0:
		return min(tries, err.tries)
	default:
		return tries
	}
}

// resign answers a refused signature: the same once more, because servers refuse good ones at times, then without the
// signatures, which costs some reasoning and saves the conversation.
func (c *loop) resign() (time.Duration, bool) {
	c.hop.refused++
	switch c.hop.refused {
	case 1:
		return c.policy.Retry.First, true
	case 2:
		c.now.req, c.now.unsigned = withoutSignatures(c.now.req), true
		return 0, true
	}
	return 0, false
}

// maxHops bounds the continuations of one answer.
const maxHops = 8

// join adds a hop's result to the answer. It returns the whole answer, nothing when a further hop continues it, or an error
// when it does not come to an end.
func (c *loop) join(res *Result) (*Result, *Error) {
	c.hop.wasted = c.hop.wasted.Add(res.Wasted)
	c.settle(res.Usage.Add(res.Wasted))
	c.wasted, c.hop.wasted = c.wasted.Add(c.hop.wasted), spec.Usage{}
	answer := &c.now.answer
	answer.add(res)
	if res.Finish != genai.FinishReasonContinuation {
		return answer.result(res), nil
	}
	if c.now.hops >= maxHops || bytes.Equal(res.Continuation, answer.token) {
		return nil, &Error{
			Class: Truncated, tries: 1, Message: "the answer did not end within its continuations",
		}
	}
	answer.token = res.Continuation
	c.now.req = resume(c.now.req, res.Continuation)
	c.hop = hop{}
	return nil, nil
}

// joined is an answer in several hops.
type joined struct {
	parts []*genai.Part
	usage spec.Usage
	token []byte
}

func (j *joined) add(res *Result) {
	for _, p := range res.Content.Parts {
		j.parts = appendPart(j.parts, p)
	}
	j.usage = j.usage.Add(res.Usage)
}

func (j *joined) result(last *Result) *Result {
	out := *last
	out.Content = &genai.Content{Role: genai.RoleModel, Parts: j.parts}
	out.Usage, out.Continuation = j.usage, nil
	return &out
}

// resume is the same request, to be continued from a token.
func resume(req *Request, token []byte) *Request {
	out := *req
	var config genai.GenerateContentConfig
	if req.Config != nil {
		config = *req.Config
	}
	config.ContinuationToken = token
	out.Config = &config
	return &out
}

// candidates are the models that may answer a call, in their order, and how far the call has come with them.
type candidates struct {
	all []Candidate
	// next are those that were not asked yet, resting those whose breaker was open: they are asked last.
	next, resting []Candidate
	// from is the candidate that was passed over last, why its failure, and first that of the first one that failed, or of the
	// own one, which may rest and be asked last.
	from  Candidate
	why   *Error
	first *Error

	tokens int // the request's size, once it was needed
}

// begin starts a round: all candidates are to be asked, the own one first.
func (c *loop) begin(ctx context.Context) {
	c.round++
	l := &c.candidates
	if l.all == nil {
		l.all = append([]Candidate{c.req.own()}, c.req.Fallback...)
	}
	*l = candidates{all: l.all, next: l.all, tokens: l.tokens}
	c.choose(ctx)
}

// choose takes the next candidate that fits and whose breaker lets it be asked, then those that rest: before a call fails, all
// were asked. It reports whether there is one.
func (c *loop) choose(ctx context.Context) bool {
	l := &c.candidates
	for len(l.next) > 0 {
		first, next := len(l.next) == len(l.all), l.next[0]
		l.next = l.next[1:]
		if len(l.all) == 1 {
			c.ask(ctx, next, false, false) // without a fallback there is no breaker
			return true
		}
		if !first && !c.fits(next) {
			continue
		}
		allowed, probe := c.breakers.allow(next)
		if allowed {
			c.ask(ctx, next, probe, probe)
			return true
		}
		l.from, l.why, l.resting = next, nil, append(l.resting, next)
	}
	if len(l.resting) == 0 {
		return false
	}
	next := l.resting[0]
	l.resting = l.resting[1:]
	c.ask(ctx, next, l.first != nil, false)
	return true
}

// ask makes a candidate the one that is asked. After the first round each is sent to once.
func (c *loop) ask(ctx context.Context, next Candidate, once, probe bool) {
	if l := &c.candidates; next != l.all[0] && l.why != nil { // that it rests was told before
		tell(ctx, spec.Wait{For: spec.WaitFallback, Model: l.from.String(), Instead: next.String(), Why: l.why.Error()})
	}
	c.now = asked{Candidate: next, req: c.req, once: once || c.round > 1, probe: probe}
	if len(c.candidates.all) > 1 {
		c.now.req = c.req.For(next)
	}
	c.hop = hop{}
}

// fits reports whether the request is small enough for a candidate.
func (c *loop) fits(next Candidate) bool {
	if next.Model == c.req.Model {
		return true
	}
	if c.candidates.tokens == 0 {
		c.candidates.tokens = Estimate(c.req)
	}
	window := next.Window
	if window == 0 {
		window = Lookup(next.Model).usable()
	}
	return c.candidates.tokens <= window
}

// fallBack gives a candidate up that has failed and chooses the next one. It returns the error with which the call fails when
// there is none, or when the failure is of the request or of the answer.
func (c *loop) fallBack(ctx context.Context, err *Error) *Error {
	c.settle(spec.Usage{})
	c.wasted = c.wasted.Add(c.hop.wasted).Add(c.now.answer.usage)
	c.void = c.void || c.hop.shown || len(c.now.answer.parts) > 0
	l, failed := &c.candidates, c.now.Candidate
	if len(l.all) == 1 {
		return err
	}
	if err.sheds() {
		c.breakers.trip(failed, err.RetryAfter)
	}
	c.leave()
	if !err.sheds() && (failed.Model == c.req.Model || !err.unfit()) {
		return err
	}
	l.from, l.why = failed, err
	if l.first == nil || failed == l.all[0] {
		l.first = err
	}
	if c.choose(ctx) {
		return nil
	}
	return l.first
}

// leave ends the probe of a candidate.
func (c *loop) leave() {
	if c.now.probe {
		c.breakers.release(c.now.Candidate)
		c.now.probe = false
	}
}

// outagePause is the time between two rounds of a call whose service is away.
const outagePause = 30 * time.Second
