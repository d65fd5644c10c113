package conductor

import (
	"context"
	"errors"
	"fmt"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/journal"
	"divisi/subagents/wire"
)

// maxClaims bounds how often a conductor tries to claim an attempt whose worker appends meanwhile.
const maxClaims = 10

// lookRestored finds out whether the log of the run goes on from a copy of it.
func (c *Conductor) lookRestored(ctx context.Context) error {
	m, err := c.cfg.Bus.Last(ctx, bus.RestoredSubject)
	if err != nil {
		return fmt.Errorf("look whether the log of run %s is a copy: %w", c.cfg.Run, err)
	}
	if m != nil && c.st.First < m.Pos {
		c.restored = m.Pos
	}
	return nil
}

// claim takes an attempt over, as a worker that hands it back at once, before a copy of the log gives it out. A worker that was
// at it on the server before, or at another one of its number that the copy does not have, is fenced from then on: the newest
// event of the attempt is the claim's.
func (c *Conductor) claim(ctx context.Context, d run.Dispatch) error {
	if c.restored == 0 {
		return nil
	}
	a := &wire.Assignment{Run: c.cfg.Run, Task: spec.Task{ID: d.Task}, Attempt: d.Attempt, Role: spec.Role{Name: d.Role}}
	var err error
	for range maxClaims {
		if err = c.claimOnce(ctx, a); !errors.Is(err, bus.ErrFenced) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("claim %s/%d: %w", d.Task, d.Attempt, err)
	}
	return nil
}

func (c *Conductor) claimOnce(ctx context.Context, a *wire.Assignment) error {
	j, err := journal.Open(ctx, c.cfg.Bus, c.cfg.Bus, a, journal.Stamp{Worker: bus.Local, Clock: c.cfg.Clock, IDs: c.cfg.NewID})
	if err != nil {
		return err
	}
	for _, e := range j.Events() {
		if e.Worker == bus.Local && e.Pos > c.restored {
			return nil
		}
	}
	newest, _, err := j.Deliveries()
	if err != nil {
		return err
	}
	_, err = j.Append(ctx,
		wire.Draft(contextscope.KindStarted, wire.Started{Delivery: newest + 1, Time: c.cfg.Clock()}),
		wire.Draft(contextscope.KindControl, wire.Nudge{Reason: wire.ReasonStopped}))
	return err
}
