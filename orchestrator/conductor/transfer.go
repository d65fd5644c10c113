package conductor

import (
	"context"
	"fmt"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// transfer allows an agent to hand its task over. It happens when the attempt has ended, which it does with the answer.
func (c *Conductor) transfer(ctx context.Context, q *run.Request) error {
	if why := request.MayTransfer(c.st, q); why != "" {
		return c.refuse(ctx, q, why)
	}
	return c.answerTo(ctx, q, wire.Answer{Task: q.Of, Text: q.Role})
}

// handOver puts a task back that its agent has given to another role: no failure, and no attempt fewer.
func (c *Conductor) handOver(ctx context.Context, t *run.Task, q *run.Request) error {
	if p := t.Result.Patch; p != nil {
		if err := c.importPatch(ctx, t, p); refused(err) {
			return c.failed(ctx, t, spec.Fault{Class: wire.FaultWriteSet, Message: "the patch was refused", Detail: err.Error()})
		} else if err != nil {
			return fmt.Errorf("receive what %s hands over: %w", q.Agent(), err)
		}
	}
	return c.append(ctx, contextscope.KindTask, t.Task.ID, run.TaskData{
		State: run.TaskPending, Role: q.Role, Reason: fmt.Sprintf("handed over to %s: %s", q.Role, text.Line(q.Brief)),
	})
}

// baseOf is the commit that the next attempt of a task starts from: the integration head, or what the work was based on that it
// takes over.
func (c *Conductor) baseOf(t *run.Task) string {
	if h := t.LastHandover(t.Attempt + 1); h != nil && h.Patch != nil && t.Untried(h) {
		return h.Patch.Base
	}
	return c.st.Head
}
