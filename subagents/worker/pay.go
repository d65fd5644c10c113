package worker

import (
	"context"

	"divisi/contextscope"
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
