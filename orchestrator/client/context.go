package client

import (
	"context"

	"divisi/orchestrator/call"
	"divisi/orchestrator/explain"
)

// ContextView chooses what Run.Context shows.
type ContextView = call.ContextView

// Context shows what the model of an attempt of a task saw, and why; 0 is the newest attempt. It reads the log again and compiles
// what was sent.
func (r *Run) Context(ctx context.Context, task string, number int, v ContextView) ([]byte, error) {
	if r.Host != nil {
		return call.Ask(ctx, r.Host.Line(), call.HostContext, call.Head{Run: r.Name, At: call.At{Task: task, Attempt: number}}, v)
	}
	ctx, leave, err := r.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return explain.Show(ctx, r.Dir, Newest(r), r.Name, task, number, explain.View(v))
}
