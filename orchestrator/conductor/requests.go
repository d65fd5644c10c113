package conductor

import (
	"context"
	"fmt"

	"divisi/contextscope"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// settleRequests acts upon the first open request about which something is to be done.
func (c *Conductor) settleRequests(ctx context.Context) (bool, error) {
	for _, q := range c.st.OpenRequests() {
		acted, err := c.settleRequest(ctx, q)
		if acted || err != nil {
			return acted, err
		}
	}
	return false, nil
}

func (c *Conductor) settleRequest(ctx context.Context, q *run.Request) (bool, error) {
	switch q.Kind {
	case wire.RequestDelegate:
		return c.delegate(ctx, q)
	case wire.RequestTransfer:
		return true, c.transfer(ctx, q)
	case wire.RequestScope:
		return true, c.grant(ctx, q)
	case wire.RequestSend:
		return true, c.passOn(ctx, q)
	case wire.RequestAsk:
		return false, nil // somebody else's to answer
	default:
		return true, c.refuse(ctx, q, fmt.Sprintf("nobody here knows what %.40q asks for", q.Kind))
	}
}

// answerTo ends a request. The agent follows the log of the answers.
func (c *Conductor) answerTo(ctx context.Context, q *run.Request, a wire.Answer) error {
	a.Request = q.ID
	if err := c.append(ctx, contextscope.KindAnswer, q.Of, a); err != nil {
		return fmt.Errorf("answer %s: %w", q.ID, err)
	}
	return nil
}

func (c *Conductor) refuse(ctx context.Context, q *run.Request, why string) error {
	return c.answerTo(ctx, q, wire.Answer{Refused: why})
}

// cancelOrphans ends the first task whose agent-to-be-answered is not there any more: it was cancelled, or has ended otherwise.
// What that one had others do follows, one rule after the other. A task that is being landed is let land.
func (c *Conductor) cancelOrphans(ctx context.Context) (bool, error) {
	for _, id := range c.st.Asked {
		q := c.st.Requests[id]
		if q.Child == "" || q.Answer != nil || c.st.Alive(q) {
			continue
		}
		if t := c.st.Tasks[q.Child]; !t.Ended() && t.State != run.TaskLanding {
			return true, c.cancelTask(ctx, t, q.Agent()+", which had asked for it, has ended")
		}
	}
	return false, nil
}
