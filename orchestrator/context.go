package orchestrator

import (
	"context"

	"divisi/orchestrator/explain"
)

// ContextView chooses what Run.Context shows: a turn, 0 for the newest, as it was compiled or Raw as the service was sent it; or
// the Sizes of its parts; or what changed between the turns From and To, where they are set; or Compactions. Text is for people;
// else it is JSON.
type ContextView struct {
	Turn, From, To                int
	Raw, Sizes, Compactions, Text bool
}

// Context shows what the model of an attempt of a task saw, and why; 0 is the newest attempt. It reads the log again and compiles
// what was sent.
func (r *Run) Context(ctx context.Context, task string, number int, v ContextView) ([]byte, error) {
	if r.host != nil {
		a, err := r.host.ask(ctx, hostCall{Verb: verbContext, Run: r.id, Task: task, Attempt: number, View: &v})
		return a.Data, err
	}
	ctx, leave, err := r.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return explain.Show(ctx, r.dir, r.newest(), r.id, task, number, explain.View(v))
}
