package conductor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/assign"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
	"divisi/subagents/wire"
)

// dispatch parks what can never start and puts the first ready task on the queue.
func (c *Conductor) dispatch(ctx context.Context) (bool, error) {
	if c.st.Status != run.Running && c.st.Status != run.Planning || c.halt.on() {
		return false, nil
	}
	ready, doomed := schedule.Ready(c.st)
	for _, id := range c.st.Order {
		if why, ok := doomed[id]; ok {
			return true, c.park(ctx, c.st.Tasks[id], why, nil)
		}
	}
	for _, id := range ready {
		t := c.st.Tasks[id]
		if why := schedule.UsedUp(c.st, t); why != "" {
			return true, c.park(ctx, t, why, nil)
		}
		d := run.Dispatch{Task: id, Attempt: t.Attempt + 1, Role: t.Task.Role, Head: c.baseOf(t), Tokens: schedule.Allowance(c.st, t)}
		err := c.dispatchAttempt(ctx, &d, contextscope.KindTask, id, run.TaskData{State: run.TaskRunning, Dispatch: &d})
		var missing *assign.InputError
		if errors.As(err, &missing) {
			return true, c.park(ctx, t, missing.Error(), nil)
		}
		if err != nil {
			return false, err
		}
	}
	return len(ready) > 0, nil
}

// dispatchAttempt seals an attempt's assignment, appends the event whose data holds d, and puts the attempt on the queue. Every
// delivery, every resume and every look at the attempt reads what was sealed here, whatever becomes of the task later.
func (c *Conductor) dispatchAttempt(ctx context.Context, d *run.Dispatch, kind contextscope.Kind, task string, data any) error {
	if err := c.seal(ctx, d); err != nil {
		return err
	}
	if err := c.append(ctx, kind, task, data); err != nil {
		return err
	}
	return c.enqueue(ctx, *d)
}

// seal stores the assignment of an attempt, made from the state as it is now, and notes its name.
func (c *Conductor) seal(ctx context.Context, d *run.Dispatch) error {
	name, err := c.sealer.Seal(ctx, c.st, d)
	d.Assignment = name
	return err
}

// enqueue puts an attempt that the log says was dispatched on the queue. Doing it twice is harmless. The log of an older version
// names no assignment: the attempt is then given what the state says now.
func (c *Conductor) enqueue(ctx context.Context, d run.Dispatch) error {
	if d.Assignment == "" {
		if err := c.seal(ctx, &d); err != nil {
			return err
		}
	}
	data, err := json.Marshal(wire.Assignment{
		Run: c.cfg.Run, Task: spec.Task{ID: d.Task}, Attempt: d.Attempt, Object: d.Assignment,
	})
	if err != nil {
		return fmt.Errorf("encode %s/%d: %w", d.Task, d.Attempt, err)
	}
	msg, subject := fmt.Sprintf("%s.%s.%d.%d", c.cfg.Run, d.Task, d.Attempt, c.st.Epoch),
		bus.TaskSubject(d.Role, c.cfg.Run, queueToken(d.Task, d.Attempt))
	c.heard.Store(subject, c.cfg.Clock())
	err = c.cfg.Bus.Enqueue(ctx, subject, msg, data)
	if err != nil && !errors.Is(err, bus.ErrQueued) {
		return fmt.Errorf("put %s/%d on the queue: %w", d.Task, d.Attempt, err)
	}
	return nil
}

// queueToken is an attempt's place on the queue. Each attempt has its own, so that the next one need not wait until the
// worker has acknowledged the one before.
func queueToken(id string, attempt int) string { return fmt.Sprintf("%s--%d", id, attempt) }
