package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
)

// Start writes a run's first event. It is refused when the run's log is not empty.
func (c *Conductor) Start(ctx context.Context, s RunSpec) error {
	if c.last != 0 {
		return fmt.Errorf("run %s exists already", c.cfg.Run)
	}
	return c.append(ctx, contextscope.KindRun, "", RunData{State: RunCreated, Spec: &s, Notices: c.cfg.Notices})
}

// takeOver makes this process the run's conductor: it raises the epoch, which fences the one before, and puts on the queue
// again what the log says is outstanding, and nothing else.
func (c *Conductor) takeOver(ctx context.Context) error {
	if c.last == 0 {
		return fmt.Errorf("run %s has no log", c.cfg.Run)
	}
	if c.st.Run == RunDone || c.st.Run == RunParked || c.st.Run == RunCancelled {
		return nil
	}
	d := RunData{Epoch: c.st.Epoch + 1, Budget: c.cfg.Budget, AllowUnverified: c.cfg.AllowUnverified}
	if c.st.Run == RunStopped && c.cfg.Resume {
		d.State = c.phase()
	} else if c.st.Halted() {
		d.State = c.st.Run // the machine is tried anew
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
func (c *Conductor) phase() RunState {
	switch {
	case !c.st.prepared():
		return RunPreflight
	case len(c.st.Plans) == 0 && c.st.Spec.Plan == nil:
		return RunPlanning
	default:
		return RunRunning
	}
}

// prepared reports whether preflight is behind the run: setup went well, every gate has its baseline, and the run may go on
// with it.
func (s *State) prepared() bool {
	p := s.Spec.Project
	if s.Unproven() {
		return false
	}
	if len(p.Gates) == 0 && len(p.Setup) > 0 {
		r := s.Settled(baselineTask)
		return r != nil && r.Status == spec.StatusDone
	}
	return len(s.Baseline) >= len(p.Gates)
}

// preflight has the gates run once on the base commit. What is red there is nobody's fault later.
func (c *Conductor) preflight(ctx context.Context) (bool, error) {
	switch c.st.Run {
	case RunCreated:
		return true, c.append(ctx, contextscope.KindRun, "", RunData{State: RunPreflight})
	case RunPreflight:
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
	w := c.st.Works[baselineTask]
	if w == nil {
		return true, c.dispatchGates(ctx, baselineTask, c.st.Spec.Base, 1)
	}
	r := c.st.Settled(baselineTask)
	if r == nil {
		return false, nil
	}
	if len(r.Receipts) < len(p.Gates) || len(p.Gates) == 0 && r.Status != spec.StatusDone {
		return c.baselineFailed(ctx, w, r)
	}
	return c.endPreflight(ctx, r.Receipts)
}

// baselineFailed tries again after the machine's failures; a setup that does not work is the user's to mend.
func (c *Conductor) baselineFailed(ctx context.Context, w *Work, r *spec.Result) (bool, error) {
	f := faultOf(r)
	resumed := c.st.Epoch > w.Attempts[w.Last].Epoch
	if !resumed && (f.Class == ClassSetup || w.Last >= maxGateTries) {
		return false, fmt.Errorf("%w: %s", ErrPreflight, c.st.reason(f))
	}
	return true, c.dispatchGates(ctx, baselineTask, c.st.Spec.Base, w.Last+1)
}

// ErrPreflight says that a run could not begin: its setup or its gates could not be run at all.
var ErrPreflight = errors.New("the repository is not ready for a run")

// ClassSetup is the class of a fault of the project's setup command.
const ClassSetup = "setup"

// maxGateTries bounds how often a gate run that ended without receipts is put on the queue again.
const maxGateTries = 3

func (c *Conductor) afterPreflight() RunState {
	if c.st.Spec.Plan == nil {
		return RunPlanning
	}
	return RunRunning
}

// dispatchGates puts one of the run's own gate runs on the queue: the baseline or the final gates.
func (c *Conductor) dispatchGates(ctx context.Context, id, head string, attempt int) error {
	d := Dispatch{Task: id, Attempt: attempt, Role: spec.RoleTester, Head: head}
	return c.dispatchAttempt(ctx, &d, contextscope.KindRun, "", RunData{Dispatch: &d})
}

// faultOf returns a result's fault, made up from its status where it names none.
func faultOf(r *spec.Result) spec.Fault {
	if r.Error != nil {
		return *r.Error
	}
	return spec.Fault{Class: string(r.Status), Message: fmt.Sprintf("the attempt ended as %s and gave no reason", r.Status)}
}
