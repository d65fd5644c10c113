package conductor

import (
	"context"
	"fmt"

	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
	"divisi/subagents/gate/testnames"
	"divisi/subagents/wire"
)

// making is the attempt in which the gates run on the base commit in another environment.
type making struct {
	task    string
	attempt int
}

// compare looks up the tests that passed on the base commit in two environments, and executes what follows from what differs.
func (c *Conductor) compare(ctx context.Context, a proof.Compare) error {
	var d proof.Difference
	for _, r := range a.Receipts {
		first := c.st.Proofs.Baseline[r.Gate]
		passed, err := testnames.Load(ctx, c.cfg.Bus, first.Names...)
		var there testnames.List
		if err == nil {
			there, err = testnames.Load(ctx, c.cfg.Bus, r.Names...)
		}
		if err != nil {
			return fmt.Errorf("compare the base commit in environment %.12s: %w", r.Environment, err)
		}
		d = d.And(proof.Differ(first, r, passed, there))
	}
	return c.execute(ctx, a.Then(d))
}

// Place tells a worker, which has no baseline of its environment for an attempt, what to do about it. It may be called from any
// goroutine while Run is under way.
func (c *Conductor) Place(ctx context.Context, f wire.Foreign) (placed wire.Placed, err error) {
	err = c.within(ctx, func(context.Context) error {
		placed = c.place(f)
		return nil
	})
	return placed, err
}

func (c *Conductor) place(f wire.Foreign) wire.Placed {
	p, own := &c.st.Proofs, making{f.Task, f.Attempt}
	other, known := p.Others[f.Environment]
	_, made := p.Made[f.Environment]
	by, begun := c.making[f.Environment]
	switch {
	case len(other.Lacks) > 0:
		return wire.Placed{Part: wire.PartLeave, Lacks: other.Lacks}
	case c.inFirst(f) && c.st.ReferenceServed(f.Worker):
		return wire.Placed{Part: wire.PartYield}
	case known, f.Environment == p.Reference():
		return wire.Placed{Part: wire.PartAgain}
	case made, begun && by != own && c.outstanding(by):
		return wire.Placed{Part: wire.PartWait}
	case len(p.Others)+len(p.Made) >= run.MostOthers:
		return wire.Placed{Part: wire.PartLeave, Lacks: []string{"no more environments are compared in one run"}}
	}
	c.making[f.Environment] = own
	return wire.Placed{Part: wire.PartMake}
}

// inFirst reports whether the gates of an attempt run in the first environment while it has a worker.
func (c *Conductor) inFirst(f wire.Foreign) bool {
	a := c.st.Works.Attempt(f.Task, f.Attempt)
	return a != nil && a.InFirst
}

// outstanding reports whether an attempt has not ended.
func (c *Conductor) outstanding(m making) bool {
	a := c.st.Works.Attempt(m.task, m.attempt)
	return a != nil && a.Result == nil && !a.Void
}
