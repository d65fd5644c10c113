package client

import (
	"context"

	"divisi/orchestrator/call"
)

// ContextView chooses what Run.Context shows.
type ContextView = call.ContextView

// Context shows what the model of an attempt of a task saw, and why; 0 is the newest attempt. It reads the log again and compiles
// what was sent.
func (r *Run) Context(ctx context.Context, task string, number int, v ContextView) ([]byte, error) {
	return r.context(ctx, task, number, v)
}
