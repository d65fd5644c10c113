package dashboard

import (
	"context"
	"iter"

	"divisi/contextscope"
)

// Batch is one message of a run's log: the events that it carried, and its position. It is an alias, so that one type can
// be the log of every package that reads one.
type Batch = struct {
	Pos    uint64
	Events []contextscope.Event
}

// Log is a run's event log.
type Log interface {
	// Tail yields the batches after position from, oldest first, and then those to come, until ctx ends. Positions rise,
	// with gaps. It may be called many times, from many goroutines. An error ends the sequence; it is then called again
	// with the last position that was seen. The caller ignores a batch at or before from.
	Tail(ctx context.Context, from uint64) iter.Seq2[Batch, error]
}
