package model

import (
	"encoding/json"
	"fmt"
	"sync"
)

// bytesPerToken is the estimate of how much JSON makes a token.
const bytesPerToken = 3.5

// defaultExpected is the output that is reserved for a call that does not say how much it may write, in tokens.
const defaultExpected = 4096

// Budget is a hard limit of tokens for the process. Before a call its estimate is reserved; after it what the server
// reported is booked. It is safe for concurrent use.
type Budget struct {
	mu       sync.Mutex
	limit    int
	spent    int
	reserved int
}

// NewBudget makes a budget of limit tokens; a resumed run has spent some already. A limit of zero or less
// means no limit; spending is still counted.
func NewBudget(limit, spent int) *Budget { return &Budget{limit: limit, spent: spent} }

func (b *Budget) reserve(tokens int) *Error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limit > 0 && b.spent+b.reserved+tokens > b.limit {
		return &Error{Class: OverBudget, Message: fmt.Sprintf(
			"the call needs about %d tokens; %d of %d are spent and %d reserved for calls under way",
			tokens, b.spent, b.limit, b.reserved)}
	}
	b.reserved += tokens
	return nil
}

func (b *Budget) settle(reserved, used int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved -= reserved
	b.spent += used
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
	return int(float64(n)/bytesPerToken) + 1
}

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
