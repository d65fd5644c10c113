package conductor

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"time"

	"divisi/bus"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// Start writes a run's first event. It is refused when the run's log is not empty.
func (c *Conductor) Start(ctx context.Context, s run.Spec) error {
	if c.last != 0 {
		return fmt.Errorf("run %s exists already", c.cfg.Run)
	}
	return c.append(ctx, run.Append{Data: run.Data{State: run.Created, Spec: &s, Notices: c.cfg.Notices}})
}

// takeOver makes this process the run's conductor: it raises the epoch, which fences the one before, and puts on the queue
// again what the log says is outstanding, and nothing else.
func (c *Conductor) takeOver(ctx context.Context) error {
	if c.last == 0 {
		return fmt.Errorf("run %s has no log", c.cfg.Run)
	}
	if c.st.Status == run.Done || c.st.Status == run.Parked || c.st.Status == run.Cancelled {
		return nil
	}
	d := run.Data{Epoch: c.st.Epoch + 1, Budget: c.cfg.Budget}
	d.AllowUnverified, d.AllowUnread, d.Crew = c.cfg.AllowUnverified, c.cfg.AllowUnread, c.workers.crew()
	if len(c.cfg.Keys) > 0 && !maps.EqualFunc(c.cfg.Keys, c.st.Spec.Keys, bytes.Equal) {
		d.Keys = c.cfg.Keys
	}
	if c.cfg.OnDoubt != c.st.Spec.OnDoubt { // empty: it stays
		d.OnDoubt = c.cfg.OnDoubt
	}
	if c.st.Status == run.Stopped {
		d.State = phase.Resumed(&c.st.Agenda)
	} else if c.st.Halted() {
		d.State = c.st.Status // the machine is tried again
	}
	if c.st.Epoch > 0 {
		d.Notices = c.cfg.Notices
	}
	if err := c.append(ctx, run.Append{Data: d}); err != nil {
		return err
	}
	if err := c.cfg.Bus.Purge(ctx, bus.TaskFilter(c.cfg.Run)); err != nil {
		return fmt.Errorf("empty the queue of run %s: %w", c.cfg.Run, err)
	}
	if c.cfg.Setup != "" { // before the queue has what is signed by its key: a worker with the setup before looks for it then
		if err := c.append(ctx, run.Append{Data: run.Data{Setup: c.cfg.Setup}}); err != nil {
			return err
		}
	}
	if err := c.syncHead(ctx); err != nil {
		return err
	}
	if err := c.lookRestored(ctx); err != nil {
		return err
	}
	return c.sweep(ctx, time.Time{})
}

// PublishLanded puts what has landed in a run that no process executes into the user's repository, and returns the ref.
// Where nothing can be published it is a *RefusedError.
func (c *Conductor) PublishLanded(ctx context.Context) (string, error) {
	if c.st.Head == c.st.Spec.Base {
		return "", request.Refusedf("nothing has landed in run %s", c.cfg.Run)
	}
	ref, err := c.publishHead(ctx)
	if err != nil || c.st.Published == c.st.Head {
		return ref, err
	}
	return ref, c.append(ctx, run.Append{Data: run.Data{Head: c.st.Head, Ref: ref}})
}

// proveTwin compares the head with the user's own shell. It counts where the run still ends with that head.
func (c *Conductor) proveTwin(ctx context.Context) error {
	if c.cfg.Twin == nil {
		return fmt.Errorf("run %s compares with the shell of the person who began it: resume it there", c.cfg.Run)
	}
	head, prove := c.st.Head, c.cfg.Twin(c.st)
	c.comparing = true
	c.askers.Go(func() {
		found, err := prove(ctx)
		c.deliver(ctx, func(ctx context.Context) error {
			if c.comparing = false; err != nil || c.st.Head != head || c.st.Status != run.Final {
				return err
			}
			return c.append(ctx, run.Append{Data: run.Data{Twin: found, Notices: found.Lines()}})
		})
	})
	return c.append(ctx, run.Append{Data: run.Data{Notices: []string{
		"setup and gates run once more on the final head, outside the sandbox",
	}}})
}

// timeSpent begins to count time; the returned function adds it.
func timeSpent(sum *time.Duration) (end func()) {
	begin := time.Now()
	return func() { *sum += time.Since(begin) }
}

// tellOwn puts what the conductor did itself since it told it last into the data of an event that has room for it.
func (c *record) tellOwn(data any) any {
	own := c.own
	switch d := data.(type) {
	case run.TaskData:
		d.Own, data = own, d
	case run.LandingData:
		d.Own, data = own, d
	case run.Data:
		d.Own, data = own, d
	default:
		return data
	}
	c.own = run.Own{}
	return data
}
