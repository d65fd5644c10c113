package client

import (
	"context"
	"encoding/json"
	"iter"

	"divisi/bus"
	"divisi/orchestrator/act"
	"divisi/orchestrator/eventlog"
)

// Access is how a run is reached. One is chosen where the run is opened, and what is done with the run does not ask which:
//
//	Held       this process conducts it
//	attached   another process does, on this machine or on a server
//	Rest       none does: the log is read from its files, and taken by the first request
//	away       none does, and the host on a server has it
type Access interface {
	reader
	asker
	life
}

// reader reads the log of a run.
type reader interface {
	// Log is the log as this process has it now.
	Log() eventlog.Log
	// Tail yields the log behind a position, and continues with it where a process conducts the run.
	Tail(ctx context.Context, from uint64) iter.Seq2[eventlog.Batch, error]
	// events yields the whole log, and continues with it until the run has ended.
	events(ctx context.Context) iter.Seq2[eventlog.Batch, error]
}

// asker has things done to a run.
type asker interface {
	// NotRunning reports that no process carries the run out, so that what is asked waits for Resume.
	NotRunning() bool
	// Put has a request done.
	Put(ctx context.Context, q act.Request) (act.Outcome, error)
	// take returns the log to append to.
	take(ctx context.Context) (*bus.Bus, error)
}

// life ends with the run, or when its reader has seen enough.
type life interface {
	wait(ctx context.Context, r *Run) (Result, error)
	close(r *Run) error
	// release closes what the access has open. It is called once.
	release()
}

// records are shown of a run beside its events: read here, or by the host that has its repository.
type records interface {
	decisions(ctx context.Context) (Decisions, error)
	diff(ctx context.Context, task string, number int, stat bool) (json.RawMessage, error)
	context(ctx context.Context, task string, number int, v ContextView) ([]byte, error)
	// local refuses what needs the directory of the run, where that is on another machine.
	local(what string) error
	close()
}
