package conductor

import (
	"context"
	"errors"
	"fmt"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/master"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// readPlan expands the plan file's plan, once: the expansion is an event that nothing expands again.
func (c *Conductor) readPlan(ctx context.Context) (bool, error) {
	if c.st.Status != run.Running || c.st.Spec.Plan == nil || len(c.st.Plans) > 0 {
		return false, nil
	}
	data, problems, err := plan.Prepare(ctx, *c.st.Spec.Plan, c.st.Spec, nil, c.cfg.Tree(c.st.Spec.Base))
	if err != nil {
		return false, err
	}
	if len(problems) > 0 {
		return false, &plan.Error{Problems: problems}
	}
	data.By = run.ByFile
	return true, c.append(ctx, contextscope.KindPlan, "", data)
}

// settleMaster acts upon what the master's newest attempt gave back: a plan, a wait, the end, or a failure.
func (c *Conductor) settleMaster(ctx context.Context) (bool, error) {
	w := c.st.Works[run.MasterTask]
	if w == nil || c.st.Woken >= w.Last {
		return false, nil
	}
	r := c.st.Settled(run.MasterTask)
	switch {
	case r == nil:
		return false, nil
	case r.Status != spec.StatusDone:
		return c.masterFailed(ctx, run.FaultOf(r))
	case r.Plan != nil:
		return c.takePlan(ctx, r)
	case c.st.Quiet() && !master.NewsFor(c.st, w.Last).Any():
		return true, c.append(ctx, contextscope.KindTask, run.MasterTask, run.TaskData{State: run.TaskDone, Reason: r.Handoff.Summary})
	default:
		return true, c.append(ctx, contextscope.KindTask, run.MasterTask, run.TaskData{State: run.TaskPending, Reason: "waits for its tasks"})
	}
}

func (c *Conductor) masterFailed(ctx context.Context, f spec.Fault) (bool, error) {
	paused, err := c.pause(ctx, run.MasterTask, f, func() error {
		return c.append(ctx, contextscope.KindTask, run.MasterTask, run.TaskData{State: run.TaskPending, Reason: f.Message, Again: true})
	})
	if paused || err != nil {
		return true, err
	}
	return true, c.append(ctx, contextscope.KindTask, run.MasterTask, run.TaskData{State: run.TaskPending, Reason: f.Message, Fault: &f})
}

// takePlan makes the tasks of a dispatch call the run's. The tool has checked the plan already; what it could not see, such
// as a task that came in between, goes back to the master.
func (c *Conductor) takePlan(ctx context.Context, r *spec.Result) (bool, error) {
	data, problems, err := plan.Prepare(ctx, *r.Plan, c.st.Spec, c.st.PlannedTasks(), c.cfg.Tree(c.st.Head))
	if err != nil {
		return false, err
	}
	if len(problems) > 0 {
		e := &plan.Error{Problems: problems}
		return c.masterFailed(ctx, spec.Fault{Class: "plan", Message: "the plan cannot be carried out", Detail: e.Error()})
	}
	data.By = wire.AgentID(run.MasterTask, r.Attempt)
	if err := c.append(ctx, contextscope.KindPlan, "", data); err != nil {
		return false, err
	}
	if c.st.Status == run.Planning && c.st.PlanWrites(len(c.st.Plans)-1) {
		return true, c.append(ctx, contextscope.KindRun, "", run.Data{State: run.Running})
	}
	return true, nil
}

// askApproval shows a plan that writes to a person. The answer comes back on a channel; readers go on meanwhile.
func (c *Conductor) askApproval(ctx context.Context) (bool, error) {
	at := c.st.PlanToApprove()
	if at < 0 || c.asked == at+1 {
		return false, nil
	}
	if c.cfg.Approve == nil {
		return false, fmt.Errorf("%w: pass --yes, or run on a terminal", ErrNotApproved)
	}
	c.asked = at + 1
	plan := c.st.Plans[at]
	c.asking.Go(func() {
		yes, err := c.cfg.Approve(ctx, plan)
		select {
		case c.answers <- answer{at + 1, yes, err}:
		case <-ctx.Done():
		}
	})
	return false, nil
}

// ErrNotApproved says that nobody took the plan.
var ErrNotApproved = errors.New("the plan was not approved")

func (c *Conductor) decided(ctx context.Context, a answer) error {
	if a.err != nil {
		return fmt.Errorf("ask for approval: %w", a.err)
	}
	if !a.yes {
		return c.stopped(ctx, "the plan was not approved")
	}
	return c.append(ctx, contextscope.KindRun, "", run.Data{Approved: true, Plans: a.plan})
}
