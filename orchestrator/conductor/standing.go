package conductor

import (
	"context"

	"divisi/orchestrator/decision"
	"divisi/orchestrator/run"
)

// compare finds the shape of the patch that a decision is about.
type compare struct {
	run.Proposal
	run.Decision
}

// follow gives each held patch the answer that stands for it. The shape of a patch is found once.
func (c *Conductor) follow(s *run.State) []run.Action {
	if len(s.Standing) == 0 {
		return nil
	}
	for _, d := range decision.Patches(s) {
		shape, known := c.shapes[d.ID]
		if !known {
			return []run.Action{compare{Decision: d}}
		}
		if actions := decision.Follow(s, &d, shape); len(actions) > 0 {
			return actions
		}
	}
	return nil
}

// shape finds the shape of the patch that a decision is about. One that cannot be read has none.
func (c *Conductor) shape(ctx context.Context, d *run.Decision) error {
	c.shapes[d.ID] = ""
	t, w := c.st.Tasks.ByID[d.About], c.st.Works[d.About]
	if t == nil || w == nil || len(d.Tasks) != 1 || d.Tasks[0] != d.About {
		return nil
	}
	a := w.Attempts[w.Last]
	if a == nil || a.Result == nil || a.Result.Patch == nil {
		return nil
	}
	defer spend(&c.own.Git)()
	diff, err := c.cfg.Mirror.Show(ctx, a.Head, a.Result.Patch.Commit, false)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		c.cfg.Log.Warn().Err(err).Msg("the patch of " + d.About + " cannot be read: no answer stands for it")
		return nil
	}
	c.shapes[d.ID] = decision.Shape(t, d, string(diff))
	return nil
}
