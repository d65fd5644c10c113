package worker

import (
	"context"
	"time"

	"divisi/contextscope"
	"divisi/internal/model"
	"divisi/subagents/command/bill"
	"divisi/subagents/wire"
)

// pay appends what a coding agent has printed that it used, a usage event for each model: with the cost that it states, else
// with the price of the model.
func (at *attempt) pay(ctx context.Context, used []bill.Line) error {
	var events []contextscope.Event
	for _, line := range used {
		spent := wire.Spent{Usage: line.Usage, Model: line.Model, Cost: line.Cost}
		if line.Cost == 0 && line.Model != "" {
			spent.Price = model.RowOf(&at.assignment.Project, time.Now(), line.Model)
		}
		events = append(events, wire.Draft(contextscope.KindUsage, spent))
	}
	_, err := at.journal.Append(ctx, events...)
	return err
}
