package conductor

import (
	"context"

	"divisi/contextscope"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/run"
)

// announceWait writes down when the run begins to wait for a person, and when it ends.
func (c *Conductor) announceWait(ctx context.Context) (bool, error) {
	what := phase.WaitsFor(c.st)
	if what == c.st.Wait.For {
		return false, nil
	}
	return true, c.append(ctx, contextscope.KindRun, "", run.Data{Wait: &what})
}
