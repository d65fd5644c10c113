package tool

import (
	"context"

	"divisi/subagents/wire"
)

// Requester puts an agent's requests to the conductor.
type Requester interface {
	// Request waits for what becomes of a request. The same call, in another delivery too, waits for the same answer, and asks
	// nothing twice. The error is the cause of ctx, or the log's.
	Request(ctx context.Context, call Call, r wire.Request) (wire.Answer, error)
}

// Requests returns the tools that ask something of others: delegate, transfer, ask, request_scope, and send, which is the
// master's. roles are those that an agent can name; scope grows with what is granted. Tools that are only declared need no
// requester and no scope.
func Requests(r Requester, roles []wire.Callee, scope *Scope) []Tool {
	return []Tool{
		&delegate{requests{r}, roles}, &transfer{requests{r}, roles}, &ask{requests{r}}, &requestScope{requests{r}, scope},
		&send{requests{r}},
	}
}

// requests is what all of these tools are made of: every call waits.
type requests struct{ Requester }

// Effect is Waits: the call waits for somebody else.
func (requests) Effect(Call) Effect { return Waits }

// request puts a request and makes the result of its answer, unless it was refused.
func (q requests) request(ctx context.Context, call Call, r wire.Request, tell func(wire.Answer) Result) Result {
	answer, err := q.Request(ctx, call, r)
	switch {
	case err != nil:
		return Failed("there is no answer: %v", err)
	case answer.Refused != "":
		return Failed("%s", answer.Refused)
	}
	return tell(answer)
}
