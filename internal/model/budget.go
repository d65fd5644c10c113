package model

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// bytesPerToken is the estimate of how much JSON makes a token.
const bytesPerToken = 3.5

// defaultExpected is the output that is reserved for a call that does not report how much it may write, in tokens.
const defaultExpected = 4096

// Budget is a hard limit of tokens for the process. Before a call its estimate is reserved; after it what the server
// reported is booked. A call that does not fit beside those under way waits until they are booked: they use less than they
// have reserved. It is safe for concurrent use.
type Budget struct {
	mu       sync.Mutex
	limit    int
	spent    int
	reserved int
	// settled is closed when the next call has been booked.
	settled chan struct{}

	// Where the limit is granted bit by bit: ask asks for more, one call at a time, which wants so many tokens; calls may begin
	// until a time.
	ask    func(context.Context) Asked
	asking chan struct{}
	wanted int
	until  time.Time
}

// NewBudget makes a budget of limit tokens; a resumed run has spent some already. A limit of zero or less
// means no limit; spending is still counted.
func NewBudget(limit, spent int) *Budget {
	return &Budget{limit: limit, spent: spent, settled: make(chan struct{})}
}

// Reserve returns once the tokens are reserved, or with the error of a call that does not fit although none is under way. Before
// it waits it calls waits, once, with the reason.
func (b *Budget) Reserve(ctx context.Context, tokens int, waits func(why string)) *Error {
	if b.ask != nil {
		return b.obtain(ctx, tokens, waits)
	}
	for told := false; ; told = true {
		settled, err := b.try(tokens)
		if settled == nil {
			return err
		}
		if !told {
			waits(err.Message)
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return cancelled(ctx.Err())
		}
	}
}

// try reserves tokens that are left. Where there are too few it returns an error, and what to wait for, if anything.
func (b *Budget) try(tokens int) (settled <-chan struct{}, err *Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fits(tokens) {
		b.reserved += tokens
		return nil, nil
	}
	err = &Error{Class: OverBudget, Message: fmt.Sprintf("the call needs about %d tokens; %d of %d are spent",
		tokens, b.spent, b.limit)}
	if b.reserved == 0 {
		return nil, err
	}
	err.Message += fmt.Sprintf(" and %d reserved for calls under way", b.reserved)
	return b.settled, err
}

// Settle books the use of a call that had reserved tokens.
func (b *Budget) Settle(reserved, used int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved -= reserved
	b.spent += used
	b.wake()
}

// wake has those that wait try again. The caller holds mu.
func (b *Budget) wake() {
	close(b.settled)
	b.settled = make(chan struct{})
}

// Estimate is the number of input tokens of a request, from its size as JSON.
func Estimate(req *Request) int {
	var n counter
	enc := json.NewEncoder(&n)
	enc.SetEscapeHTML(false)
	for _, part := range []any{req.Contents, req.Config} {
		if err := enc.Encode(part); err != nil {
			continue // what cannot be written is refused by validation and costs nothing
		}
	}
	return EstimateBytes(int(n))
}

// EstimateBytes is the number of tokens of so many bytes of JSON.
func EstimateBytes(n int) int { return int(float64(n)/bytesPerToken) + 1 }

type counter int

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func expected(req *Request) int {
	out := min(defaultExpected, Lookup(req.Model).MaxOutput)
	if c := req.Config; c != nil && c.MaxOutputTokens > 0 {
		out = min(out, int(c.MaxOutputTokens))
	}
	return out
}
