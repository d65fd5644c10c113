package conductor

import (
	"context"
	"fmt"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// delegate makes a task of a request, and answers it when that task has ended.
func (c *Conductor) delegate(ctx context.Context, q *run.Request) (bool, error) {
	if q.Child != "" {
		return c.handBack(ctx, q)
	}
	if why := request.MayDelegate(c.st, q); why != "" {
		return true, c.refuse(ctx, q, why)
	}
	parent := c.st.Tasks[q.Of]
	data, problems, err := plan.Prepare(ctx, spec.Plan{Tasks: []spec.Task{request.Child(c.st, q)}}, c.st.Spec, c.st.PlannedTasks(),
		c.cfg.Tree(c.st.Head))
	if err != nil {
		return false, fmt.Errorf("make a task of %s: %w", q.ID, err)
	}
	if len(problems) > 0 {
		return true, c.refuse(ctx, q, request.ProblemText(&plan.Error{Problems: problems}))
	}
	if share, limited := request.Share(c.st, q); limited && c.st.Spends(q.Role) {
		data.Grant, data.Ceiling = share, min(data.Ceiling, share)
	}
	data.Tasks[0].Unlocked = nil // only a person and the master unlock
	data.By, data.Request, data.DecisionRecord = q.Agent(), q.ID, c.st.Plans[parent.Plan].DecisionRecord
	return true, c.append(ctx, contextscope.KindPlan, "", data)
}

// handBack answers a request whose task has ended.
func (c *Conductor) handBack(ctx context.Context, q *run.Request) (bool, error) {
	t := c.st.Tasks[q.Child]
	if !t.Ended() {
		return false, nil
	}
	a := wire.Answer{Task: q.Child, Status: spec.StatusDone, Usage: c.st.Account(q.Child)}
	if t.Result != nil {
		a.Handoff = t.Result.Handoff
	}
	switch t.State {
	case run.TaskLanded:
		a.Commit = t.Commit
		a.Text = "its change has landed as " + t.Commit + "; your own tree is still what you began from, without it"
	case run.TaskParked:
		a.Status, a.Fault = spec.StatusFailed, &spec.Fault{Class: "parked", Message: t.Reason}
	case run.TaskCancelled:
		a.Status, a.Fault = spec.StatusCancelled, &spec.Fault{Class: wire.FaultCancelled, Message: t.Reason}
	}
	return true, c.answerTo(ctx, q, a)
}
