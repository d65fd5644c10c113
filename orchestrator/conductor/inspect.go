package conductor

import (
	"context"
	"errors"
	"fmt"

	"divisi/bus"
	"divisi/internal/text"
	"divisi/orchestrator/evidence"
	"divisi/orchestrator/landing/rank"
	"divisi/orchestrator/proof"
)

// inspect looks up which tests of the base commit did not run, reads the patches that may explain it, and executes what follows.
func (c *Conductor) inspect(ctx context.Context, a proof.Inspect) error {
	found, err := evidence.Inspect(ctx, c.cfg.Mirror, c.cfg.Bus, c.st, a)
	if err != nil {
		return err
	}
	return c.execute(ctx, a.Then(found))
}

// weigh reads patches and the tests that fail, and executes what follows.
func (c *Conductor) weigh(ctx context.Context, a rank.Weigh) error {
	e, err := evidence.Weigh(ctx, c.cfg.Mirror, a)
	if err != nil {
		return err
	}
	return c.execute(ctx, a.Then(e))
}

// compare looks up the tests that passed on the base commit in two environments, and executes what follows from what differs.
func (c *Conductor) compare(ctx context.Context, a proof.Compare) error {
	var d proof.Difference
	for _, r := range a.Receipts {
		differs, err := evidence.Compare(ctx, c.cfg.Bus, c.st.Proofs.Baseline[r.Gate], r)
		switch {
		case err == nil:
			d = d.And(differs)
		case ctx.Err() != nil, errors.Is(err, bus.ErrUnavailable) && !errors.Is(err, bus.ErrBroken):
			return fmt.Errorf("compare the base commit in environment %.12s: %w", r.Environment, err)
		default: // what a worker has left is no reason to end the run
			d.Lost = append(d.Lost, r.Gate+": its tests cannot be compared: "+text.Short(text.OneLine(err.Error()), maxUnable))
		}
	}
	return c.execute(ctx, a.Then(d))
}
