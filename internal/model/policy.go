package model

import (
	"context"
	"iter"
	"time"
)

// Policy is what New puts between a caller and a model. The zero value validates, continues, retries with the defaults,
// holds on its own and has no budget.
type Policy struct {
	Retry Retry
	// Hold is shared by all models of the process; nil means one of its own.
	Hold *Hold
	// Budget is shared by all models of the process; nil means none.
	Budget *Budget
	// Hops bounds the continuations of one answer; default 8.
	Hops int
	// Outage is how long a call goes on asking a service that is away; 0 means not beyond its tries.
	Outage time.Duration
}

// New returns base behind the wait for a service that is away, fallback, validation, continuation, budget, retries and hold,
// from the outside in. Callers see none of the passing failures: what comes out is an answer, or an *Error that trying again
// at once will not mend. All who share the model share what is known of models that rest.
func New(base Model, p Policy) Model {
	if p.Hold == nil {
		p.Hold = NewHold(nil)
	}
	if p.Hops <= 0 {
		p.Hops = 8
	}
	var m Model = retrier{next: base, retry: p.Retry.withDefaults(), hold: p.Hold}
	if p.Budget != nil {
		m = budgeted{next: m, budget: p.Budget}
	}
	return enduring{most: p.Outage, hold: p.Hold, next: chained{
		next: validated{next: continued{next: m, hops: p.Hops}}, health: newHealth(),
	}}
}

// validated refuses what must not be sent.
type validated struct{ next Model }

// Generate implements Model.
func (m validated) Generate(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := validate(req); err != nil {
			yield(Event{}, err)
			return
		}
		for ev, err := range m.next.Generate(ctx, req) {
			if !yield(ev, err) {
				return
			}
		}
	}
}
