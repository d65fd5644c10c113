package orchestrator

import (
	"context"
	"encoding/json"

	"divisi/contextscope/adk"
	"divisi/internal/spec"
	"divisi/orchestrator/explain"
)

// ContextView chooses what Run.Context shows: a turn, 0 for the newest, as it was compiled or Raw as the service was sent it; or
// what changed between the turns From and To, where they are set; or Compactions. Text is for people; else it is JSON.
type ContextView struct {
	Turn, From, To         int
	Raw, Compactions, Text bool
}

// Context shows what the model of an attempt of a task saw, and why; 0 is the newest attempt. It reads the log again and compiles
// what was sent.
func (r *Run) Context(ctx context.Context, task string, number int, v ContextView) ([]byte, error) {
	ctx, leave, err := r.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return explain.Show(ctx, r.dir, r.newest(), r.id, task, number, explain.View(v))
}

// Compile compiles a session given as JSON into what a model would see, with a trace.
func Compile(session []byte) (json.RawMessage, error) {
	contents, trace, err := adk.Compile(session)
	if err != nil {
		return nil, err
	}
	return spec.JSON(map[string]any{"contents": contents, "trace": trace})
}
