package client

import (
	"cmp"
	"context"
	"errors"

	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view/advice"
)

// Act does something to the run for the person whose account this process has, and returns what becomes of it. A run that no
// process executes keeps it for Resume. What cannot be done is a mistake of the caller, and changes nothing. TryAgain reads
// the files of the run again before a retry; Publish and Resume are functions.
func (r *Run) Act(ctx context.Context, a act.Args) (act.Outcome, error) {
	switch a := a.(type) {
	case act.Give:
		return r.give(ctx, a)
	case act.Drop:
		return r.drop(ctx, a)
	}
	out, err := r.ask(ctx, a)
	out.Begins = r.NotRunning() && a.Act() == act.Retry{}.Act()
	return out, err
}

// NotRunning reports that no process carries the run out, so that what was asked waits for Resume.
func (r *Run) NotRunning() bool { return r.At.NotRunning() }

// ask has an act done for who asks.
func (r *Run) ask(ctx context.Context, a act.Args) (out act.Outcome, err error) {
	q, err := act.NewRequest(a, cmp.Or(r.By, depot.Account()))
	if q.From = r.From; err != nil {
		return out, err
	}
	return r.At.Put(ctx, q)
}

// Over is the error of a request that meets the end of a run, with what can be done about it.
func Over(st *run.State, why string) error {
	ways := advice.Next(st)
	values := make([]any, len(ways))
	for i, w := range ways {
		values[i] = w
	}
	return usage.With(usage.Errorf("%s", why), usage.Over, values...)
}

// AsMistake makes what cannot be done a mistake of the caller.
func AsMistake[T any](v T, err error) (T, error) {
	var no *request.RefusedError
	if errors.As(err, &no) {
		return v, usage.Errorf("%s", no.Reason)
	}
	return v, err
}
