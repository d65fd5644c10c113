package conductor

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"divisi/orchestrator/run"
)

// keptBaseline returns the baseline that an earlier run of the same commit, gates and environment left; nil where there is none.
// One that cannot be read costs no more than another run of the gates.
func (c *Conductor) keptBaseline(ctx context.Context) *run.KeptBaseline {
	if c.cfg.Baselines == nil {
		return nil
	}
	key, err := c.baselineKey(ctx)
	if err == nil {
		var kept *run.KeptBaseline
		if kept, err = c.cfg.Baselines.Kept(key); err == nil {
			return kept
		}
	}
	c.cfg.Log.Warn().Err(err).Msg("the gates run on the base commit again")
	return nil
}

// keepBaseline keeps the baseline for later runs, or adds to it which failures are flaky. One that cannot be written costs them a
// run of the gates.
func (c *Conductor) keepBaseline(ctx context.Context) {
	if c.cfg.Baselines == nil {
		return
	}
	key, err := c.baselineKey(ctx)
	if err == nil && c.st.Flaky != nil {
		var kept *run.KeptBaseline
		if kept, err = c.cfg.Baselines.Kept(key); err == nil && kept != nil {
			kept.Flaky = c.st.Flaky
			err = c.cfg.Baselines.Keep(key, kept)
		}
	} else if err == nil {
		kept := &run.KeptBaseline{Run: c.cfg.Run, Commit: c.st.Spec.Base, Made: c.cfg.Clock()}
		for _, name := range slices.Sorted(maps.Keys(c.st.Baseline)) {
			r := c.st.Baseline[name]
			r.Output = "" // it is in the store of this run
			kept.Receipts = append(kept.Receipts, r)
		}
		err = c.cfg.Baselines.Keep(key, kept)
	}
	if err != nil {
		c.cfg.Log.Warn().Err(err).Msg("a later run of this commit runs its gates again")
	}
}

func (c *Conductor) baselineKey(ctx context.Context) (string, error) {
	tree, err := c.cfg.Mirror.Tree(ctx, c.st.Spec.Base)
	if err != nil {
		return "", fmt.Errorf("read the tree of the base commit: %w", err)
	}
	return c.cfg.Baselines.Key(tree, c.st.Spec.Project, c.st.Environment())
}
