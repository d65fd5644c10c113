package conductor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
	"divisi/subagents/wire"
)

// Start writes a run's first event. It is refused when the run's log is not empty.
func (c *Conductor) Start(ctx context.Context, s run.Spec) error {
	if c.last != 0 {
		return fmt.Errorf("run %s exists already", c.cfg.Run)
	}
	return c.append(ctx, contextscope.KindRun, "", run.Data{State: run.Created, Spec: &s, Notices: c.cfg.Notices})
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
	d := run.Data{Epoch: c.st.Epoch + 1, Budget: c.cfg.Budget, AllowUnverified: c.cfg.AllowUnverified}
	if c.st.Status == run.Stopped && c.cfg.Resume {
		d.State = c.phase()
	} else if c.st.Halted() {
		d.State = c.st.Status // the machine is tried anew
	}
	if c.st.Epoch > 0 {
		d.Notices = c.cfg.Notices
	}
	if err := c.append(ctx, contextscope.KindRun, "", d); err != nil {
		return err
	}
	if err := c.cfg.Bus.Purge(ctx, bus.TaskFilter(c.cfg.Run)); err != nil {
		return fmt.Errorf("empty the queue of run %s: %w", c.cfg.Run, err)
	}
	if err := c.syncHead(ctx); err != nil {
		return err
	}
	return c.sweep(ctx, time.Time{})
}

// phase says where a stopped run goes on.
func (c *Conductor) phase() run.Status {
	switch {
	case !phase.Prepared(c.st):
		return run.Preflight
	case len(c.st.Plans) == 0 && c.st.Spec.Plan == nil:
		return run.Planning
	default:
		return run.Running
	}
}

// preflight has the gates run once on the base commit. What is red there is nobody's fault later.
func (c *Conductor) preflight(ctx context.Context) (bool, error) {
	switch c.st.Status {
	case run.Created:
		return true, c.append(ctx, contextscope.KindRun, "", run.Data{State: run.Preflight})
	case run.Preflight:
		return c.baseline(ctx)
	default:
		return false, nil
	}
}

func (c *Conductor) baseline(ctx context.Context) (bool, error) {
	p := c.st.Spec.Project
	if len(p.Gates) == 0 && len(p.Setup) == 0 {
		return c.endPreflight(ctx, nil)
	}
	w := c.st.Works[run.BaselineTask]
	if w == nil {
		return true, c.dispatchGates(ctx, run.BaselineTask, c.st.Spec.Base, 1)
	}
	r := c.st.Settled(run.BaselineTask)
	if r == nil {
		return false, nil
	}
	if len(r.Receipts) < len(p.Gates) || len(p.Gates) == 0 && r.Status != spec.StatusDone {
		return c.baselineFailed(ctx, w, r)
	}
	return c.endPreflight(ctx, r.Receipts)
}

// baselineFailed tries again after the machine's failures; a setup that does not work is the user's to mend.
func (c *Conductor) baselineFailed(ctx context.Context, w *run.Work, r *spec.Result) (bool, error) {
	f := run.FaultOf(r)
	resumed := c.st.Epoch > w.Attempts[w.Last].Epoch
	if !resumed && (f.Class == wire.FaultSetup || w.Last >= maxGateTries) {
		return false, fmt.Errorf("%w: %s", ErrPreflight, schedule.Reason(c.st, f))
	}
	return true, c.dispatchGates(ctx, run.BaselineTask, c.st.Spec.Base, w.Last+1)
}

// ErrPreflight says that a run could not begin: its setup or its gates could not be run at all.
var ErrPreflight = errors.New("the repository is not ready for a run")

// maxGateTries bounds how often a gate run that ended without receipts is put on the queue again.
const maxGateTries = 3

func (c *Conductor) afterPreflight() run.Status {
	if c.st.Spec.Plan == nil {
		return run.Planning
	}
	return run.Running
}

// dispatchGates puts one of the run's own gate runs on the queue: the baseline or the final gates.
func (c *Conductor) dispatchGates(ctx context.Context, id, head string, attempt int) error {
	d := run.Dispatch{Task: id, Attempt: attempt, Role: spec.RoleTester, Head: head}
	return c.dispatchAttempt(ctx, &d, contextscope.KindRun, "", run.Data{Dispatch: &d})
}
