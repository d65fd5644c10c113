package orchestrator

import (
	"context"
	"encoding/json"

	"divisi/internal/spec"
	"divisi/orchestrator/attempt"
)

// Diff returns the patch of an attempt of a task, or with stat its size for each file, as JSON (docs/landing.md); 0 is the newest
// attempt.
func (r *Run) Diff(ctx context.Context, task string, number int, stat bool) (json.RawMessage, error) {
	return r.look(ctx, task, number, func(ctx context.Context, a *attempt.Attempt) (any, error) { return a.Diff(ctx, stat) })
}

// Log returns what the gates printed that tested an attempt of a task, as JSON (docs/landing.md); 0 is the newest attempt.
func (r *Run) Log(ctx context.Context, task string, number int) (json.RawMessage, error) {
	return r.look(ctx, task, number, func(ctx context.Context, a *attempt.Attempt) (any, error) { return a.Log(ctx) })
}

func (r *Run) look(
	ctx context.Context, task string, number int, show func(context.Context, *attempt.Attempt) (any, error),
) (json.RawMessage, error) {
	ctx, leave, err := r.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	a, err := attempt.Find(ctx, r.dir, r.bus, r.id, task, number)
	if err != nil {
		return nil, err
	}
	v, err := show(ctx, a)
	if err != nil {
		return nil, err
	}
	return spec.JSON(v)
}
