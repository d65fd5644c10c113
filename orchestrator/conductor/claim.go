package conductor

import (
	"context"
	"fmt"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/orchestrator/assign"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// lookRestored finds out whether the log of the run continues from a copy of it.
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

// claim takes an attempt over before a copy of the log gives it out.
func (c *Conductor) claim(ctx context.Context, d run.Dispatch) error {
	if c.restored == 0 {
		return nil
	}
	a := &wire.Assignment{Run: c.cfg.Run, Task: spec.Task{ID: d.Task}, Attempt: d.Attempt, Role: spec.Role{Name: d.Role}}
	return assign.Claim(ctx, c.cfg.Bus, a, c.restored, c.cfg.Clock, c.cfg.NewID)
}
