package orchestrator

import (
	"context"
	"iter"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/subagents/wire"
)

// LogBatch is one message of a run's log. It is an alias, so that it is also the batch of every package that reads a log.
type LogBatch = struct {
	Pos    uint64
	Events []contextscope.Event
}

// Log is a run's event log as watchers read it.
type Log struct {
	Bus *bus.Bus
	Run string
}

// Tail yields the batches after position from, oldest first, and then those to come, until ctx ends. A message that this
// program cannot read is an error that names its position; the log still goes on behind it for a caller that asks again.
func (l Log) Tail(ctx context.Context, from uint64) iter.Seq2[LogBatch, error] {
	return l.batches(l.Bus.Tail(ctx, bus.RunFilter(l.Run), from+1))
}

// Read yields the batches after position from that are in the log now, and ends.
func (l Log) Read(ctx context.Context, from uint64) iter.Seq2[LogBatch, error] {
	return l.batches(l.Bus.Read(ctx, bus.RunFilter(l.Run), from+1))
}

func (l Log) batches(messages iter.Seq2[bus.Message, error]) iter.Seq2[LogBatch, error] {
	return func(yield func(LogBatch, error) bool) {
		for m, err := range messages {
			b := LogBatch{Pos: m.Pos}
			if err == nil {
				b.Events, err = wire.DecodeEvents(m.Data, m.Pos)
			}
			if !yield(b, err) {
				return
			}
		}
	}
}
