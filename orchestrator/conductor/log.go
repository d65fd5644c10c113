package conductor

import (
	"context"
	"encoding/json"
	"iter"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/orchestrator/run"
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

// Tail yields the batches after position from, oldest first, and then those to come, until ctx ends. What this
// program cannot read of them is an event of kind unreadable in its place; a log of another format is a *wire.FormatError.
func (l Log) Tail(ctx context.Context, from uint64) iter.Seq2[LogBatch, error] {
	return l.batches(from, l.Bus.Tail(ctx, bus.RunFilter(l.Run), from+1))
}

// Read yields the batches after position from that are in the log now, and ends.
func (l Log) Read(ctx context.Context, from uint64) iter.Seq2[LogBatch, error] {
	return l.batches(from, l.Bus.Read(ctx, bus.RunFilter(l.Run), from+1))
}

func (l Log) batches(from uint64, messages iter.Seq2[bus.Message, error]) iter.Seq2[LogBatch, error] {
	return func(yield func(LogBatch, error) bool) {
		first, owners := from == 0, map[string]*wire.Owner{}
		for m, err := range messages {
			b := LogBatch{Pos: m.Pos}
			if err == nil && first && m.Lost == "" {
				first, err = false, wire.CheckFormat(l.Run, m)
			}
			if err == nil {
				b.Events = events(m)
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

// events reads one message of a run's log, the data of the conductor's events too.
func events(m bus.Message) []contextscope.Event {
	out := wire.DecodeEvents(m)
	for i := range out {
		var err error
		switch e := &out[i]; e.Kind {
		case contextscope.KindRun:
			err = json.Unmarshal(e.Data, new(run.Data))
		case contextscope.KindPlan:
			err = json.Unmarshal(e.Data, new(run.PlanData))
		case contextscope.KindTask:
			err = json.Unmarshal(e.Data, new(run.TaskData))
		case contextscope.KindLanding:
			_, err = run.LandingOf(e.Data)
		case contextscope.KindAnswer:
			err = json.Unmarshal(e.Data, new(wire.Answer))
		}
		if err != nil {
			out[i] = wire.Unread(m, out[i], err)
		}
	}
	return out
}
