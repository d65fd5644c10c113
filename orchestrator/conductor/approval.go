package conductor

import (
	"context"
	"errors"
	"fmt"

	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// ErrNotApproved reports that the plan was not approved.
var ErrNotApproved = errors.New("the plan was not approved")

// Answer is a person's answer about a plan: Yes, or Words that send it back to the master, or neither, which stops the run.
type Answer struct {
	Yes   bool
	Words string
}

// answer is the answer about a plan, counted from 1.
type answer struct {
	Answer

	plan int
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
		said, err := c.cfg.Approve(ctx, shown)
		select {
		case c.answers <- answer{said, at + 1, err}:
		case <-ctx.Done():
		}
	})
}

func (c *Conductor) decided(ctx context.Context, a answer) error {
	switch {
	case a.err != nil:
		return fmt.Errorf("ask for approval: %w", a.err)
	case a.Yes:
		return c.append(ctx, run.Append{Data: run.Data{Approved: true, Plans: a.plan}})
	case a.Words == "":
		return c.stopped(ctx, "the plan was not approved")
	}
	if _, _, err := request.Send(c.st, run.MasterTask, a.Words, wire.FromUser); err != nil {
		return fmt.Errorf("send the plan back: %w", err)
	}
	// One event removes the tasks and holds the words: neither can be lost without the other.
	if err := c.append(ctx, run.Append{Data: run.Data{SentBack: a.Words, Plans: a.plan}}); err != nil {
		return err
	}
	c.tell(ctx, run.MasterTask)
	return nil
}
