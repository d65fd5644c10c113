package worker

import (
	"context"
	"time"

	"divisi/contextscope"
	"divisi/internal/model"
	"divisi/subagents/wire"
)

// pay appends what a coding agent has used, a usage event for each model.
func (at *attempt) pay(ctx context.Context, used []wire.Spent) error {
	if len(used) == 0 {
		return nil
	}
	var events []contextscope.Event
	for _, spent := range used {
		events = append(events, wire.Draft(contextscope.KindUsage, spent))
	}
	_, err := at.journal.Append(ctx, events...)
	return err
}

// note appends that a call of a model begins, or has ended: its use follows in an event of its own.
func (at *attempt) note(ctx context.Context) func(model.Noted) error {
	return func(n model.Noted) error {
		s := wire.Spent{Call: n.Call, Booked: n.Booked, Model: n.Model, Tier: n.Tier}
		if n.Reserved != nil {
			s.Reserved = new(n.Reserved.Usage())
			s.Price = model.RowOf(&at.assignment.Project, time.Now(), n.Model)
		}
		return at.pay(context.WithoutCancel(ctx), []wire.Spent{s})
	}
}
