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

// pause dispatches nothing more and lets each active attempt reach its next turn; then the run stops. The log names a program
// that asked for it in the place of a person.
func (c *Conductor) pause(ctx context.Context, by string) error {
	if !c.pausing {
		c.pausing = true
		notice := fmt.Sprintf("%s; agents that finish their turn: %d", reasonPaused, len(c.st.Busy()))
		if wire.ByProgram(by) {
			notice += "; asked by " + by
		}
		if err := c.append(ctx, run.Append{Data: run.Data{Notices: []string{notice}}}); err != nil {
			return err
		}
		if err := c.takeBackIdle(ctx); err != nil {
			return err
		}
	}
	for _, id := range c.st.Busy() {
		c.tell(ctx, id)
	}
	return nil
}

// takeBackIdle removes from the queue the attempts that no worker runs. A running one stays there: when it is interrupted it is
// delivered again, and reaches its turn then.
func (c *Conductor) takeBackIdle(ctx context.Context) error {
	busy := c.st.Busy()
	for id, w := range c.st.Queue {
		if w.Outstanding() && !slices.Contains(busy, id) {
			if err := c.takeBack(ctx, w); err != nil {
				return err
			}
		}
	}
	return nil
}

// paused stops a run that is being paused once no attempt runs.
func (c *Conductor) paused(ctx context.Context) error {
	if len(c.st.Busy()) > 0 {
		return nil
	}
	return c.stopped(ctx, reasonPaused)
}
