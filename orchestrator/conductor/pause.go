package conductor

import (
	"context"
	"fmt"
	"slices"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/orchestrator/run"
)

// reasonPaused is why a run that a person paused stops.
const reasonPaused = "paused by a person"

// Pause dispatches nothing more and lets what is at work come to its next boundary; then the run stops. It returns how many
// attempts that are.
func (c *Conductor) Pause(ctx context.Context) (int, error) {
	if !c.pausing {
		c.pausing = true
		notice := fmt.Sprintf("%s: %d at work come to their next turn", reasonPaused, len(c.busy()))
		if err := c.append(ctx, contextscope.KindRun, "", run.Data{Notices: []string{notice}}); err != nil {
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

// takeBackIdle takes off the queue what nobody is in the middle of. What is at work stays there: an attempt that breaks off is
// given out again, and comes to its boundary then.
func (c *Conductor) takeBackIdle(ctx context.Context) error {
	busy := c.busy()
	for id, w := range c.st.Works {
		if w.Outstanding() && !slices.Contains(busy, id) {
			if err := c.takeBack(ctx, w); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeBack takes the newest attempt of a work off the queue.
func (c *Conductor) takeBack(ctx context.Context, w *run.Work) error {
	subject := bus.TaskSubject(w.RoleAt(w.Last), c.cfg.Run, queueToken(w.ID, w.Last))
	if err := c.cfg.Bus.Purge(ctx, subject); err != nil {
		return fmt.Errorf("take %s off the queue: %w", w.ID, err)
	}
	return nil
}

// busy lists the works whose newest attempt is with a worker and has come to no boundary.
func (c *Conductor) busy() []string {
	var ids []string
	for id, w := range c.st.Works {
		a := w.Attempts[w.Last]
		if w.Outstanding() && !w.Waits() && a.StartedPos > c.st.Began && !a.Stopped && a.Lacks == nil {
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
