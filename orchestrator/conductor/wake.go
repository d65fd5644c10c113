package conductor

import (
	"context"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/master"
	"divisi/orchestrator/run"
)

// wake puts the master on the queue: at the start, after a failure of its own, when everything that it asked for has ended, when
// an agent asks it something, and when a person writes to it. All reasons since its last turn come as one message.
func (c *Conductor) wake(ctx context.Context) (bool, error) {
	if c.st.Spec.Plan != nil || c.st.Status == run.Preflight || c.st.MasterDone || c.st.MasterGaveUp() != "" {
		return false, nil
	}
	w := c.st.Works[run.MasterTask]
	next := 1
	if w != nil {
		if w.Outstanding() || c.st.Woken < w.Last {
			return false, nil
		}
		next = w.Last + 1
	}
	if !c.st.Quiet() && !master.Calls(c.st) {
		return false, nil
	}
	d := run.Dispatch{Task: run.MasterTask, Attempt: next, Role: spec.RoleMaster, Head: c.st.Head}
	return true, c.dispatchAttempt(ctx, &d, contextscope.KindTask, run.MasterTask, run.TaskData{State: run.TaskRunning, Dispatch: &d})
}
