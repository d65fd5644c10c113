package console

import (
	"context"
	"fmt"
	"iter"
	"time"

	"divisi/contextscope"
)

// endGrace is how long Follow waits behind the end of a run: a run that was stopped once and resumed has more to come.
const endGrace = 300 * time.Millisecond

// Batch is one message of a run's log: the events that it carried, and its position. It is an alias, so that one type can
// be the log of every package that reads one.
type Batch = struct {
	Pos    uint64
	Events []contextscope.Event
}

// Log is a run's event log.
type Log interface {
	// Tail yields the batches after position from, oldest first, and then those to come, until ctx ends. An error ends the
	// sequence.
	Tail(ctx context.Context, from uint64) iter.Seq2[Batch, error]
}

// Follow shows a run from its first event on, until the run has ended, the log has, or ctx does (whose error it then
// returns). It closes nothing.
func Follow(ctx context.Context, log Log, c *Console) error {
	tail, cancel := context.WithCancel(ctx)
	defer cancel()
	grace := time.AfterFunc(endGrace, cancel)
	grace.Stop()
	defer grace.Stop()
	for b, err := range log.Tail(tail, 0) {
		grace.Stop()
		if tail.Err() != nil {
			break
		}
		if err != nil {
			return fmt.Errorf("follow the run's log: %w", err)
		}
		c.Handle(placed(b))
		if err := c.Err(); err != nil {
			return err
		}
		if c.over() {
			grace.Reset(endGrace)
		}
	}
	return ctx.Err()
}

// placed returns the batch's events with their position.
func placed(b Batch) []contextscope.Event {
	events := make([]contextscope.Event, len(b.Events))
	for i, e := range b.Events {
		e.Pos = b.Pos
		events[i] = e
	}
	return events
}

// over reports whether the run's newest state is an end.
func (c *Console) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.view.Status.Ended()
}
