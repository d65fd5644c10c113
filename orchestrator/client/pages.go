package client

import (
	"context"
	"fmt"

	"divisi/bus"
	"divisi/orchestrator/call"
)

// Messages are those of a page as they are read from a log.
func Messages(page []call.Shown) []bus.Message {
	out := make([]bus.Message, len(page))
	for i, m := range page {
		out[i] = bus.Message{Subject: m.Subject, Pos: m.Pos, Time: m.Time, Data: m.Events}
	}
	return out
}

// pages asks the host for the log of a run.
func (m *Host) pages(run string) bus.Pages {
	return func(ctx context.Context, from uint64) ([]bus.Message, error) {
		try, end := context.WithTimeout(ctx, TryTime)
		defer end()
		page, err := AskHost(try, m, call.HostLog, run, call.From{From: from})
		if err != nil && try.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", bus.ErrNoAnswer, err)
		}
		return Messages(page), err
	}
}
