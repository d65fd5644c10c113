package model

import (
	"context"
	"fmt"
	"time"

	"divisi/internal/spec"
)

// grantRetry is after how long a call that waits for a grant asks again.
const grantRetry = time.Second

// Asked is the reply to a request for a larger grant: nothing when the budget has it by now; else why it does not yet, or never
// will.
type Asked struct{ Wait, Over string }

// NewGrant makes a budget that another process grants bit by bit. It has nothing at first: where a call does not fit, ask is
// called, one call at a time, and sets what is granted by Grant.
func NewGrant(money bool, prices Prices, ask func(ctx context.Context) Asked) *Budget {
	b := NewBudget(spec.Budget{Money: money}, 0, prices)
	b.ask, b.asking = ask, make(chan struct{}, 1)
	return b
}

// Least is the least amount that the first call of a conversation reserves under a budget: with a request of so many bytes, and
// an answer of the fewest tokens that one is bounded to.
func Least(limit spec.Budget, prices Prices, name, tier string, request int) int64 {
	b := NewBudget(limit, 0, prices)
	least, _ := b.most(&Reserved{
		Need: Need{Model: name, Tier: tier, Output: min(leastOutput, Lookup(name).MaxOutput)}, Prompt: request,
	})
	return least
}

// Standing is the state of a budget's grants: all that was granted, what is spent, and what calls need beyond that.
type Standing struct {
	Granted, Spent, Need int64
	Money                bool
}

// Grant sets how much may be spent in all, by calls that are begun until a time.
func (b *Budget) Grant(amount int64, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit.Amount, b.until = amount, until
	b.wake()
}

// Standing returns what the budget has. A grant whose time is over is no longer counted.
func (b *Budget) Standing() Standing {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !time.Now().Before(b.until) {
		b.limit.Amount = min(b.limit.Amount, b.spent)
	}
	s := Standing{Granted: b.limit.Amount, Spent: b.spent, Money: b.limit.Money}
	if b.wanted > 0 {
		s.Need = max(0, b.spent+b.reserved+b.wanted-b.limit.Amount)
	}
	return s
}

// Return gives up what no call has reserved, and reports whether there was something. Standing reports what is left.
func (b *Budget) Return() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.limit.Amount - b.spent - b.reserved
	if left <= 0 {
		return false
	}
	b.limit.Amount -= left
	return true
}

// limited reports whether there is a limit. The caller holds mu.
func (b *Budget) limited() bool { return b.ask != nil || b.limit.Amount > 0 }

// fits reports whether an amount can be reserved. The caller holds mu.
func (b *Budget) fits(amount int64) bool {
	if !b.limited() {
		return true
	}
	return b.spent+b.reserved+amount <= b.limit.Amount && (b.ask == nil || time.Now().Before(b.until))
}

// obtain is Reserve where the limit is granted bit by bit.
func (b *Budget) obtain(ctx context.Context, a Need, waits func(why string)) (Reserved, *Error) {
	for {
		changed := b.changed()
		r, _, err := b.try(a)
		if err == nil || r.Amount == 0 {
			return r, err
		}
		select {
		case b.asking <- struct{}{}:
			defer func() { b.want(0); <-b.asking }()
			return b.request(ctx, a, waits)
		case <-changed:
		case <-ctx.Done():
			return r, cancelled(ctx.Err())
		}
	}
}

// request asks until what a call needs is reserved, or never will be.
func (b *Budget) request(ctx context.Context, a Need, waits func(why string)) (Reserved, *Error) {
	for told := false; ; {
		changed := b.changed()
		r, settled, err := b.try(a)
		if err == nil {
			return r, nil
		}
		b.want(r.Amount)
		asked := b.ask(ctx)
		switch {
		case ctx.Err() != nil:
			return r, cancelled(ctx.Err())
		case asked == Asked{}:
			continue
		}
		why := fmt.Sprintf("the call needs about %s; %s%s", b.limit.Figure(r.Amount)+b.limit.Unit(), asked.Wait, asked.Over)
		if asked.Over != "" && settled == nil {
			return r, &Error{Class: OverBudget, Message: why}
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

// want notes how much the call needs that asks.
func (b *Budget) want(amount int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wanted = amount
}
