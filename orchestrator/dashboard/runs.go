package dashboard

import (
	"context"
	"encoding/json"
	"iter"

	"divisi/contextscope"
	"divisi/orchestrator/act"
	"divisi/orchestrator/view"
)

// Runs are the runs of one place. Its methods may be called from many goroutines.
type Runs interface {
	// List returns the ids of all runs, the newest first.
	List(ctx context.Context) ([]string, error)
	// Stand returns how a run stands. It is called for each run every second, and is cheap where nothing has changed.
	Stand(ctx context.Context, id string) (Standing, error)
	// Open connects to a run: to the process that has it, or to its log as it is.
	Open(ctx context.Context, id string) (Run, error)
}

// Standing is how a run stands.
type Standing struct {
	// Mark is another one where something may have changed since.
	Mark string
	// Active reports that a process has the run, so that its log grows.
	Active bool
	// Row is that of a run that is not active: see view.RowIn.
	Row view.Row
}

// Run is a run that is open.
type Run interface {
	Log
	// Last returns the position of the newest message of the log; 0 for none.
	Last(ctx context.Context) (uint64, error)
	// Close releases the run. Nothing else is called after it.
	Close() error
}

// Batch is one message of a run's log: the events that it carried, and its position. It is an alias, so that one type can
// be the log of every package that reads one.
type Batch = struct {
	Pos    uint64
	Events []contextscope.Event
}

// Log is a run's event log.
type Log interface {
	// Tail yields the batches after position from, oldest first. Where a process has the run it goes on with those to come, until
	// ctx ends. Positions rise, with gaps. It may be called many times, from many goroutines. An error ends the sequence; it is
	// then called again with the last position that was seen. The caller ignores a batch at or before from.
	Tail(ctx context.Context, from uint64) iter.Seq2[Batch, error]
}

// Controller shows more of a run than its log, and does what a person asks for. Its methods may be called from many
// goroutines. An error that is a usage.Error is a mistake of the person.
type Controller interface {
	// Decisions returns the open decisions of a run as a person sees them, with their patches.
	Decisions(ctx context.Context, run string) ([]view.Decision, error)
	// Show returns what a query asks for, as JSON.
	Show(ctx context.Context, q Query) (json.RawMessage, error)
	// Act does something to a run for the visitor by, as the command of the same name does.
	Act(ctx context.Context, run, by string, a act.Args) (Outcome, error)
}

// What a Query can ask for.
const (
	ShowReport  = "report"
	ShowDiff    = "diff"
	ShowLog     = "log"
	ShowContext = "context"
)

// Query asks for more of a run: its report, or the patch, the gates' output or the context of an attempt of a task; 0 is the
// newest attempt, and the newest turn.
type Query struct {
	What, Run, Task string
	Attempt, Turn   int
}

// Outcome is the result of an act, in words. Started reports that a process was started for it, which continues without the page.
type Outcome struct {
	Outcome string `json:"outcome"`
	Started bool   `json:"started,omitempty"`
	// Held are the ids under which the run holds it back.
	Held []string `json:"held,omitempty"`
}
