package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"divisi/bus"
)

// shownMessage is a message of the log as a viewer is shown it.
type shownMessage struct {
	Subject string          `json:"subject"`
	Pos     uint64          `json:"pos"`
	Time    time.Time       `json:"time"`
	Events  json.RawMessage `json:"events"`
}

// messages are those of a page as they are read from a log.
func messages(page []shownMessage) []bus.Message {
	out := make([]bus.Message, len(page))
	for i, m := range page {
		out[i] = bus.Message{Subject: m.Subject, Pos: m.Pos, Time: m.Time, Data: m.Events}
	}
	return out
}

// pages asks the host for the log of a run.
func (m *client) pages(run string) bus.Pages {
	return func(ctx context.Context, from uint64) ([]bus.Message, error) {
		try, end := context.WithTimeout(ctx, tryTime)
		defer end()
		a, err := m.ask(try, hostCall{Verb: verbLog, Run: run, From: from})
		if err != nil && try.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", bus.ErrNoAnswer, err)
		}
		return messages(a.Log), err
	}
}
