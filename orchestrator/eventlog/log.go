// Package eventlog reads the log of a run: its messages become events, checked alike for all who read, and the events a state.
// What this program cannot read is an event of kind unreadable in its place. It writes nothing.
package eventlog

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Batch is one message of a run's log. It is an alias, so that it is also the batch of every package that shows a log.
type Batch = struct {
	Pos    uint64
	Events []contextscope.Event
}

// Log is the whole log of a run.
type Log struct {
	Bus *bus.Bus
	Run string
}

// Tail yields the batches after position from, oldest first, and then those to come, until ctx ends. A log of another format is a
// *wire.FormatError.
func (l Log) Tail(ctx context.Context, from uint64) iter.Seq2[Batch, error] {
	return l.batches(from, l.Bus.Tail(ctx, bus.RunFilter(l.Run), from+1))
}

// Read yields the batches after position from that are in the log now, and ends.
func (l Log) Read(ctx context.Context, from uint64) iter.Seq2[Batch, error] {
	return l.batches(from, l.Bus.Read(ctx, bus.RunFilter(l.Run), from+1))
}

// Fold reads a run's whole log into a state. The state's notices name each event that cannot be read. A log of another format is
// a *wire.FormatError.
func Fold(ctx context.Context, b *bus.Bus, runID string) (*run.State, error) {
	st := run.NewState()
	if err := (Log{Bus: b, Run: runID}).Into(ctx, st, func(*contextscope.Event) {}); err != nil {
		return nil, err
	}
	return st, nil
}

// Into folds into a state what the log has behind it, and calls then after each event.
func (l Log) Into(ctx context.Context, st *run.State, then func(e *contextscope.Event)) error {
	for batch, err := range l.Read(ctx, st.Pos) {
		switch {
		case errors.As(err, new(*wire.FormatError)):
			return err
		case err != nil:
			return fmt.Errorf("read the log of run %s: %w", l.Run, err)
		}
		for i := range batch.Events {
			e := &batch.Events[i]
			if err := st.Apply(e); err != nil {
				return err
			}
			then(e)
		}
	}
	return nil
}

func (l Log) batches(from uint64, messages iter.Seq2[bus.Message, error]) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		first, owners := from == 0, map[string]*wire.Owner{}
		for m, err := range messages {
			b := Batch{Pos: m.Pos}
			if err == nil && first && m.Lost == "" {
				first, err = false, wire.CheckFormat(l.Run, m)
			}
			if err == nil {
				b.Events = Events(m)
				disown(b.Events, owners)
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// disown makes events unreadable that a worker wrote who does not have the attempt. What was read before the first of owners is
// not known to it: who appends first to an attempt has it.
func disown(events []contextscope.Event, owners map[string]*wire.Owner) {
	for i := range events {
		e := &events[i]
		session := e.Role + "/" + e.Agent // as the fence has it
		if owners[session] == nil {
			owners[session] = &wire.Owner{}
		}
		if err := owners[session].Admit(e); err != nil {
			*e = wire.Disown(e, err)
		}
	}
}

// Events reads one message of a run's log, the data of the conductor's events too. Which worker has an attempt is for the fold to
// tell.
func Events(m bus.Message) []contextscope.Event {
	out := wire.DecodeEvents(m)
	for i := range out {
		if err := run.Check(&out[i]); err != nil {
			out[i] = wire.Unread(m, out[i], err)
		}
	}
	return out
}
