package conductor

import (
	"context"
	"fmt"

	"divisi/internal/text"
	"divisi/orchestrator/master"
	"divisi/orchestrator/run"
)

// stuck stops a run in which nothing can happen until a person answers, and no person is there: others can answer it while it
// stands, and resume goes on.
func (c *Conductor) stuck(ctx context.Context) (bool, error) {
	if c.cfg.Interactive || c.asked > c.st.Approved || c.st.Status != run.Running && c.st.Status != run.Planning {
		return false, nil
	}
	working, _ := c.st.AtWork()
	questions := master.Questions(c.st)
	if working > 0 || len(questions) == 0 {
		return false, nil
	}
	q := questions[0]
	to := c.cfg.Run
	if q.Of != run.MasterTask {
		to += "/" + q.AskedBy()
	}
	return true, c.stopped(ctx, fmt.Sprintf(
		"waits for an answer to %s: %s (answer: divisi send %s \"…\", then: divisi resume %s)",
		q.Agent(), text.Line(q.Question), to, c.cfg.Run))
}
