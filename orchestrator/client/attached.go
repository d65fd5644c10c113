package client

import (
	"context"
	"errors"
	"iter"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
	"divisi/orchestrator/view"
)

// attached is a run that another process executes, here or elsewhere.
type attached struct {
	log eventlog.Log
	dir store.Dir
}

// Log implements reader.
func (a *attached) Log() eventlog.Log { return a.log }

// Tail implements reader.
func (a *attached) Tail(ctx context.Context, from uint64) iter.Seq2[eventlog.Batch, error] {
	return a.log.Tail(ctx, from)
}

func (a *attached) events(ctx context.Context) iter.Seq2[eventlog.Batch, error] {
	return untilEnd(ctx, a.log.Tail)
}

// NotRunning implements asker.
func (*attached) NotRunning() bool { return false }

// Put asks the process that holds the run. One that does not listen has come to the run's end, or begins just now.
func (a *attached) Put(ctx context.Context, q act.Request) (act.Outcome, error) {
	out, err := AsMistake(conductor.Ask(ctx, a.log.Bus, a.log.Run, q))
	if !errors.Is(err, bus.ErrNoListener) {
		return out, err
	}
	st, ferr := eventlog.Fold(ctx, a.log.Bus, a.log.Run)
	switch {
	case ferr != nil:
		return out, errors.Join(err, ferr)
	case st.Status.Ended():
		return out, usage.Errorf("run %s is over: %s\n"+
			"Its process is just ending: to change it, try again in a moment", a.log.Run, st.Status)
	}
	return out, usage.Errorf("run %s is not accepting requests yet: try again in a moment", a.log.Run)
}

func (a *attached) take(context.Context) (*bus.Bus, error) { return a.log.Bus, nil }

// wait follows the log. What it has read is the result, whatever keeps it from the rest.
func (*attached) wait(ctx context.Context, r *Run) (Result, error) {
	ctx, leave, err := r.enter(ctx)
	if err != nil {
		return Result{}, err
	}
	st := run.NewState()
	err = func() error {
		defer leave()
		for b, err := range r.At.events(ctx) {
			if err != nil {
				return err
			}
			for i := range b.Events {
				b.Events[i].Pos = b.Pos
				if err := st.Apply(&b.Events[i]); err != nil {
					return err
				}
			}
		}
		return r.Dir.Check(st, r.Name)
	}()
	result := ResultOf(st)
	if err == nil {
		_ = r.At.close(r)
		result.Report, err = spec.JSON(view.Of(st))
	}
	return result, err
}

// close ends those who read.
func (*attached) close(r *Run) error {
	r.end()
	r.finish()
	return nil
}

func (a *attached) release() { a.dir.Close(a.log.Bus) }
