package client

import (
	"context"
	"encoding/json"
	"fmt"

	"divisi/bus"
	"divisi/orchestrator/attempt"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
)

// Decisions lists what is open: what blocks most first.
func (r *Run) Decisions(ctx context.Context) (Decisions, error) { return r.decisions(ctx) }

// Complete adds to a decision what a person needs to see of it.
func Complete(ctx context.Context, dir store.Dir, b *bus.Bus, st *run.State, d *Decision) (err error) {
	if d.Kind == run.DecidePlan {
		if d.Plan, err = json.Marshal(st.Plans.Now(d.Planned, &st.Tasks)); err != nil {
			return fmt.Errorf("show the plan: %w", err)
		}
	}
	for _, task := range d.Tasks {
		if d.Patches = append(d.Patches, patchOf(ctx, dir, b, st, task)); ctx.Err() != nil {
			return fmt.Errorf("read the patch of %s: %w", task, ctx.Err())
		}
	}
	t := st.Tasks.ByID[d.About]
	if t != nil && len(d.Patches) == 1 && d.Patches[0].Task == d.About && d.Patches[0].Fault == "" {
		d.Alike = decision.Shape(t, d, d.Patches[0].Diff)
	}
	return nil
}

// patchOf is the newest patch of a task, or why it cannot be shown: one that is lost keeps no other from being decided.
func patchOf(ctx context.Context, dir store.Dir, b *bus.Bus, st *run.State, task string) Patch {
	a, err := attempt.Newest(dir, b, st, task)
	if err != nil {
		return Patch{Task: task, Fault: err.Error()}
	}
	p, err := a.Diff(ctx, false)
	if err != nil {
		return Patch{Task: task, Fault: err.Error()}
	}
	return Patch{Task: task, Files: p.Files, Diff: p.Diff}
}
