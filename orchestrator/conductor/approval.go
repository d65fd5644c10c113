package conductor

import (
	"context"
	"errors"
	"fmt"

	"divisi/orchestrator/run"
)

// ErrNotApproved reports that the plan was not approved.
var ErrNotApproved = errors.New("the plan was not approved")

// answer is a person's answer about a plan.
type answer struct {
	plan int
	yes  bool
	err  error
}

// askApproval proposes to show a plan that writes to a person, once.
func (c *Conductor) askApproval(s *run.State) []run.Action {
	at := s.PlanToApprove()
	if at < 0 || c.asked == at+1 {
		return nil
	}
	if c.cfg.Approve == nil {
		return []run.Action{run.Fail{Err: fmt.Errorf("%w: pass --yes, or run on a terminal", ErrNotApproved)}}
	}
	return []run.Action{run.Approve{Plan: at}}
}

// approve shows a plan. The answer comes back on a channel; readers continue meanwhile.
func (c *Conductor) approve(ctx context.Context, at int) {
	c.asked = at + 1
	shown := c.st.Plans[at]
	c.asking.Go(func() {
		yes, err := c.cfg.Approve(ctx, shown)
		select {
		case c.answers <- answer{at + 1, yes, err}:
		case <-ctx.Done():
		}
	})
}

func (c *Conductor) decided(ctx context.Context, a answer) error {
	switch {
	case a.err != nil:
		return fmt.Errorf("ask for approval: %w", a.err)
	case !a.yes:
		return c.stopped(ctx, "the plan was not approved")
	default:
		return c.append(ctx, run.Append{Data: run.Data{Approved: true, Plans: a.plan}})
	}
}
