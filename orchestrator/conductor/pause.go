package conductor

import (
	"context"
	"fmt"
	"slices"

	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// reasonPaused is why a run that a person paused stops.
const reasonPaused = "paused by a person"

// pause dispatches nothing more and lets each active attempt reach its next turn; then the run stops. It returns the number of
// these attempts. The log names a program that asked for it in the place of a person.
func (c *Conductor) pause(ctx context.Context, by string) (int, error) {
	if !c.pausing {
		c.pausing = true
		notice := fmt.Sprintf("%s; agents that finish their turn: %d", reasonPaused, len(c.busy()))
		if wire.ByProgram(by) {
			notice += "; asked by " + by
		}
		if err := c.append(ctx, run.Append{Data: run.Data{Notices: []string{notice}}}); err != nil {
			return 0, err
		}
		if err := c.takeBackIdle(ctx); err != nil {
			return 0, err
		}
	}
	busy := c.busy()
	for _, id := range busy {
		c.tell(ctx, id)
	}
	return len(busy), nil
}

// takeBackIdle removes from the queue the attempts that no worker runs. A running one stays there: when it is interrupted it is
// delivered again, and reaches its turn then.
func (c *Conductor) takeBackIdle(ctx context.Context) error {
	busy := c.busy()
	for id, w := range c.st.Queue {
		if w.Outstanding() && !slices.Contains(busy, id) {
			if err := c.takeBack(ctx, w); err != nil {
				return err
			}
		}
	}
	return nil
}

// busy lists the works whose newest attempt a worker runs and which have not stopped at a turn, but for what nothing waits for.
func (c *Conductor) busy() []string {
	var ids []string
	for id, w := range c.st.Queue {
		a := w.Attempts[w.Last]
		if id != run.FlakesTask && w.Outstanding() && !w.Waits() && a.StartedPos > c.st.Began && !a.Stopped && a.Lacks == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// paused stops a run that is being paused once no attempt runs.
func (c *Conductor) paused(ctx context.Context) error {
	if len(c.busy()) > 0 {
		return nil
	}
	return c.stopped(ctx, reasonPaused)
}
