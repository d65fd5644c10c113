package orchestrator

import (
	"context"
	"fmt"

	"divisi/bus"
	"divisi/contextscope"
)

// reasonPaused is why a run that a person paused stops.
const reasonPaused = "paused by a person"

// Pause dispatches nothing more and lets what is at work come to its next boundary; then the run stops. It returns how many
// attempts that are.
func (c *Conductor) Pause(ctx context.Context) (int, error) {
	if !c.pausing {
		c.pausing = true
		notice := fmt.Sprintf("%s: %d at work come to their next turn", reasonPaused, len(c.busy()))
		if err := c.append(ctx, contextscope.KindRun, "", RunData{Notices: []string{notice}}); err != nil {
			return 0, err
		}
		if err := c.cfg.Bus.Purge(ctx, bus.TaskFilter(c.cfg.Run)); err != nil {
			return 0, fmt.Errorf("empty the queue of run %s: %w", c.cfg.Run, err)
		}
	}
	busy := c.busy()
	for _, id := range busy {
		c.tell(ctx, id)
	}
	return len(busy), nil
}

// busy lists the works whose newest attempt is with a worker and has come to no boundary.
func (c *Conductor) busy() []string {
	var ids []string
	for id, w := range c.st.Works {
		a := w.Attempts[w.Last]
		if w.Outstanding() && !w.Waits() && a.StartedPos > c.st.Began && !a.Stopped {
			ids = append(ids, id)
		}
	}
	return ids
}

// paused stops a run that is being paused once nobody is at work.
func (c *Conductor) paused(ctx context.Context) error {
	if len(c.busy()) > 0 {
		return nil
	}
	return c.stopped(ctx, reasonPaused)
}
