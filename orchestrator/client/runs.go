package client

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/rs/zerolog"

	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/advice"
)

// Runs are the runs of one place. Its methods may be called from many goroutines.
type Runs interface {
	// List returns the ids of all runs, the newest first. A run is there from its directory on, so that one that has just begun
	// can be without a log.
	List(ctx context.Context) ([]string, error)
	// Open connects to a run: to the process that carries it out; where there is none, the run's log is read as it stands, and a
	// request takes it until Wait or Close. An id that is none of the list is a mistake of the caller.
	Open(ctx context.Context, id string) (*Run, error)
	// Summary returns how a run stands. That of a run that has ended was written at its end; any other one, and one that is
	// missing or damaged, is computed from the log. The error of a log that this program cannot read has code format.
	Summary(ctx context.Context, id string) (Summary, error)
}

// Summary is how a run stands.
type Summary = call.Summary

// Local returns the runs of a state directory on this machine.
func Local(stateDir string) Runs { return Place(stateDir) }

// Place is a state directory of this machine, as the place of its runs.
type Place string

// Dir is the state directory, which logs to the logger of ctx.
func (l Place) Dir(ctx context.Context) store.Dir {
	return store.Dir{Path: string(l), Log: *zerolog.Ctx(ctx)}
}

// List implements Runs.
func (l Place) List(ctx context.Context) ([]string, error) { return l.Dir(ctx).IDs() }

// Open implements Runs.
func (l Place) Open(ctx context.Context, id string) (*Run, error) { return Attach(ctx, l.Dir(ctx), id) }

// Summary implements Runs.
func (l Place) Summary(ctx context.Context, id string) (s Summary, err error) {
	r, kept := l.Dir(ctx).Summary(id)
	if kept {
		s.State = string(r.State)
	} else {
		st, alone, err := l.Dir(ctx).State(ctx, id)
		if err != nil {
			return s, err
		}
		s, r = SummaryOf(st, alone)
	}
	return s, l.Complete(ctx, id, &s, &r)
}

// SummaryOf is how a run stands, with its report; alone reports that no process carries it out.
func SummaryOf(st *run.State, alone bool) (s Summary, r view.Report) {
	s.State, r = view.Status(st), view.Live(st, depot.Now())
	if alone && !st.Status.Ended() {
		s.State, r = "killed", view.Of(st)
	}
	switch {
	case st.Damaged:
		s.Problem = usage.Damaged
	case len(st.Unread) > 0:
		s.Problem = usage.Unreadable
	}
	return s, r
}

// Complete adds the report of a run, and what its description tells.
func (l Place) Complete(ctx context.Context, id string, s *Summary, r *view.Report) (err error) {
	if m, err := store.ReadMeta(l.Dir(ctx).Run(id)); err == nil && m.Order != "" {
		s.Unfetched = r.State.Ended() && r.Head != r.Base && m.Fetched != r.Head
	}
	if s.Unfetched {
		r.Next = advice.Unfetched(id, r.Next)
	}
	s.Report, err = spec.JSON(r)
	return err
}

// Report returns the report of the run as it stands now, as Summary has it.
func (r *Run) Report(ctx context.Context) (json.RawMessage, error) {
	ctx, leave, err := r.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	st, err := r.Dir.Fold(ctx, r.At.Log().Bus, r.Name)
	if err != nil {
		return nil, err
	}
	if r.NotRunning() {
		return spec.JSON(view.Of(st))
	}
	return spec.JSON(view.Live(st, depot.Now()))
}

// Removal reports what to remove of a state directory.
type Removal = store.Removal

// Removed is a run, or a directory, that was removed.
type Removed = call.Removed

// Remove removes runs, one after the other, and yields each. One that a process executes is refused. An error ends the
// sequence; a run that is not removed whole can still be removed.
func Remove(ctx context.Context, stateDir string, what Removal) iter.Seq2[Removed, error] {
	return func(yield func(Removed, error) bool) {
		for r, err := range Place(stateDir).Dir(ctx).Remove(ctx, what, depot.Now()) {
			if !yield(Removed(r), err) {
				return
			}
		}
	}
}
