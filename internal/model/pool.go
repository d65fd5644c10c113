package model

import (
	"context"
	"time"

	"divisi/internal/spec"
)

// Pool keeps what a budget has spent and reserved where other processes have the same budget. Change gives change what it has in
// a unit, while no other process has it, and keeps what change makes of it.
type Pool interface {
	Change(money bool, change func(*Pooled)) error
}

// Pooled is what a pool has in one unit on a Day. Raised is the limit that a person has set for that day; 0 for none.
type Pooled struct {
	Day                     string
	Raised, Spent, Reserved int64
}

// NewPooled makes a budget of all processes that have its pool.
func NewPooled(limit spec.Budget, prices Prices, pool Pool) *Budget {
	b := NewBudget(limit, 0, prices)
	b.pool, b.own = pool, limit.Amount
	return b
}

// Within has calls fit into another budget too.
func (b *Budget) Within(over *Budget) *Budget {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = over
	return b
}

// try is fit, for a pool with what all processes have by now.
func (b *Budget) try(a Need) (r Reserved, settled <-chan struct{}, err *Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pool == nil {
		return b.fit(a)
	}
	if failed := b.pool.Change(b.limit.Money, func(p *Pooled) {
		p.take(b.unbooked)
		b.limit.Amount, b.spent, b.reserved = max(b.own, p.Raised), p.Spent, p.Reserved
		r, settled, err = b.fit(a)
		r.day, p.Reserved = p.Day, b.reserved
	}); failed != nil {
		return r, nil, &Error{Class: Uncounted, Message: failed.Error(), Err: failed}
	}
	b.unbooked = nil
	return r, settled, err
}

// booking is an amount in the place of what was reserved for it on a day; of a program that has reserved nothing the day is
// empty, and it counts on the one that has begun.
type booking struct {
	day              string
	reserved, amount int64
}

// take counts bookings. A call that began on an earlier day was of that day's budget.
func (p *Pooled) take(all []booking) {
	for _, b := range all {
		if b.day == "" || b.day == p.Day {
			p.Reserved -= b.reserved
			p.Spent += b.amount
		}
	}
}

// book counts an amount in the place of what was reserved for it; what a pool refuses is counted with its next change. The caller
// holds mu.
func (b *Budget) book(r *Reserved, amount int64) {
	if b.pool == nil {
		b.reserved -= r.Amount
		b.spent += amount
		return
	}
	b.unbooked = append(b.unbooked, booking{r.day, r.Amount, amount})
	if b.pool.Change(b.limit.Money, func(p *Pooled) { p.take(b.unbooked) }) == nil {
		b.unbooked = nil
	}
}

// Count counts, in the budget above, what a program has used that reserves nothing.
func (b *Budget) Count(used spec.Sum) {
	if b == nil || b.over == nil {
		return
	}
	b.over.mu.Lock()
	defer b.over.mu.Unlock()
	b.over.book(&Reserved{}, b.over.limit.Of(used))
	b.over.wake()
}

// again is when a call that waits for other processes tries again; they do not wake it.
func (b *Budget) again() <-chan time.Time {
	if b.pool == nil {
		return nil
	}
	return time.After(grantRetry)
}

// reserveOver has what a call has reserved fit into the budget above too.
func (b *Budget) reserveOver(ctx context.Context, r *Reserved, waits func(why string)) *Error {
	need := r.Need
	need.Known = r.Prompt
	over, err := b.over.Reserve(ctx, need, waits)
	if err != nil {
		b.Settle(r, spec.Usage{}, "", true)
		return err
	}
	r.Output, r.over = over.Output, &over
	return nil
}
