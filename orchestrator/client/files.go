package client

import (
	"context"
	"encoding/json"

	"divisi/orchestrator/attempt"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/explain"
	"divisi/orchestrator/view"
)

// files are the records of a run in its directory on this machine.
type files struct{ *Run }

func (f files) decisions(ctx context.Context) (Decisions, error) {
	b := f.At.Log().Bus
	st, err := eventlog.Fold(ctx, b, f.Name)
	if err != nil {
		return nil, err
	}
	open := view.Open(st)
	for i := range open {
		if err := Complete(ctx, f.Dir, b, st, &open[i]); err != nil {
			return nil, err
		}
	}
	return open, nil
}

func (f files) diff(ctx context.Context, task string, number int, stat bool) (json.RawMessage, error) {
	return f.look(ctx, task, number, func(ctx context.Context, a *attempt.Attempt) (any, error) { return a.Diff(ctx, stat) })
}

func (f files) context(ctx context.Context, task string, number int, v ContextView) ([]byte, error) {
	ctx, leave, err := f.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return explain.Show(ctx, f.Dir, f.At.Log().Bus, f.Name, task, number, explain.View(v))
}

func (files) local(string) error { return nil }

func (files) close() {}
