package conductor

import (
	"context"

	"divisi/contextscope"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// CancelTask ends one task for good, and with it everything that its agent has asked for. The error is a *RefusedError where it
// cannot be ended.
func (c *Conductor) CancelTask(ctx context.Context, id, reason string) error {
	if reason == "" {
		reason = "cancelled by a person"
	}
	if err := request.Reachable(c.st, id, reason); err != nil {
		return err
	}
	t := c.st.Tasks[id]
	switch {
	case t == nil:
		return request.Refusedf("the master ends with its run: divisi cancel %s", c.cfg.Run)
	case t.Ended():
		return request.Refusedf("%s has ended and is %s", id, t.State)
	case t.State == run.TaskLanding:
		return request.Refusedf("%s is being landed", id)
	}
	return c.cancelTask(ctx, t, reason)
}

// cancelTask ends a task: first in the log, from when on nothing of it counts, then on the queue and with its agent.
func (c *Conductor) cancelTask(ctx context.Context, t *run.Task, reason string) error {
	id := t.Task.ID
	if err := c.append(ctx, contextscope.KindTask, id, run.TaskData{State: run.TaskCancelled, Reason: reason}); err != nil {
		return err
	}
	for _, work := range []string{id, id + run.VerifySuffix} {
		w := c.st.Works[work]
		if w == nil || w.Attempts[w.Last] == nil || w.Attempts[w.Last].Result != nil {
			continue
		}
		if err := c.takeBack(ctx, w); err != nil {
			return err
		}
		c.tell(ctx, work)
	}
	return nil
}
