package conductor

import (
	"context"

	"divisi/orchestrator/ledger"
	"divisi/orchestrator/request"
	"divisi/subagents/wire"
)

// Grant notes what a worker has of the budget and grants it what it needs, where that is free. It may be called from any
// goroutine while Run is under way, and fails when the run ends.
func (c *Conductor) Grant(ctx context.Context, h wire.Holding) (wire.Grant, error) {
	done := make(chan wire.Grant, 1)
	err := c.within(ctx, func(context.Context) error {
		g, err := c.grant(&h)
		done <- g
		return err
	})
	if err != nil {
		return wire.Grant{}, err
	}
	return <-done, nil
}

func (c *Conductor) grant(h *wire.Holding) (wire.Grant, error) {
	if err := h.Check(); err != nil {
		return wire.Grant{}, request.Refusedf("%s", err.Error())
	}
	if _, counted := c.st.Crew[h.Worker]; !counted {
		return wire.Grant{}, request.Refusedf("the run does not count on worker %s, which has to enlist again", h.Worker)
	}
	book := &ledger.Book{Limit: c.st.Budget, Spent: c.st.Usage.Total(), By: c.st.Spent}
	return c.ledger.Take(*h, book, c.cfg.Clock()), nil
}
