package model

import (
	"context"
	"fmt"
	"time"
)

// grantRetry is after how long a call that waits for a grant asks again.
const grantRetry = time.Second

// Asked is the reply to a request for a larger grant: nothing when the budget has it by now; else why it does not yet, or never
// will.
type Asked struct{ Wait, Over string }

// NewGrant makes a budget that another process grants bit by bit. It has nothing at first: where a call does not fit, ask is
// called, one call at a time, and sets what is granted by Grant.
func NewGrant(ask func(ctx context.Context) Asked) *Budget {
	b := NewBudget(0, 0)
	b.ask, b.asking = ask, make(chan struct{}, 1)
	return b
}

// Standing is the state of a budget's grants, in tokens: all that was granted, what is spent, and what calls need beyond that.
type Standing struct{ Granted, Spent, Need int }

// Grant sets how many tokens may be spent in all, by calls that are begun until a time.
func (b *Budget) Grant(tokens int, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit, b.until = tokens, until
	b.wake()
}

// Standing returns what the budget has. A grant whose time is over is no longer counted.
func (b *Budget) Standing() Standing {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !time.Now().Before(b.until) {
		b.limit = min(b.limit, b.spent)
	}
	s := Standing{Granted: b.limit, Spent: b.spent}
	if b.wanted > 0 {
		s.Need = max(0, b.spent+b.reserved+b.wanted-b.limit)
	}
	return s
}

// Return gives up what no call has reserved, and reports whether there was something. Standing reports what is left.
func (b *Budget) Return() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.limit - b.spent - b.reserved
	if left <= 0 {
		return false
	}
	b.limit -= left
	return true
}

// fits reports whether tokens can be reserved. The caller holds mu.
func (b *Budget) fits(tokens int) bool {
	if b.ask == nil && b.limit <= 0 {
		return true
	}
	return b.spent+b.reserved+tokens <= b.limit && (b.ask == nil || time.Now().Before(b.until))
}

// obtain is reserve where tokens are granted bit by bit.
func (b *Budget) obtain(ctx context.Context, tokens int, waits func(why string)) *Error {
	for {
		changed := b.changed()
		if _, err := b.try(tokens); err == nil {
			return nil
		}
		select {
		case b.asking <- struct{}{}:
			defer func() { b.want(0); <-b.asking }()
			return b.request(ctx, tokens, waits)
		case <-changed:
		case <-ctx.Done():
			return cancelled(ctx.Err())
		}
	}
}

// request asks until the tokens are reserved, or never will be.
func (b *Budget) request(ctx context.Context, tokens int, waits func(why string)) *Error {
	b.want(tokens)
	for told := false; ; {
		changed := b.changed()
		settled, err := b.try(tokens)
		if err == nil {
			return nil
		}
		asked := b.ask(ctx)
		switch {
		case ctx.Err() != nil:
			return cancelled(ctx.Err())
		case asked == Asked{}:
			continue
		}
		why := fmt.Sprintf("the call needs about %d tokens; %s%s", tokens, asked.Wait, asked.Over)
		if asked.Over != "" && settled == nil {
			return &Error{Class: OverBudget, Message: why}
		}
		if !told {
			waits(why)
			told = true
		}
		retry := time.NewTimer(grantRetry)
		select {
		case <-changed:
		case <-retry.C:
		case <-ctx.Done():
		}
		retry.Stop()
	}
}

// changed is closed when a call has been booked, or something was granted.
func (b *Budget) changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.settled
}

// want notes how many tokens the call needs that asks.
func (b *Budget) want(tokens int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wanted = tokens
}
