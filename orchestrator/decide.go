package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"

	"divisi/bus"
	"divisi/orchestrator/attempt"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
)

// Decisions lists what is open: what blocks most first.
func (r *Run) Decisions(ctx context.Context) ([]Decision, error) {
	if r.host != nil {
		a, err := r.host.ask(ctx, hostCall{Verb: verbDecisions, Run: r.id})
		return a.Decisions, err
	}
	st, err := conductor.Fold(ctx, r.bus, r.id)
	if err != nil {
		return nil, err
	}
	open := decision.Open(st)
	decision.Count(st, open)
	out := make([]Decision, len(open))
	for i := range open {
		if out[i], err = shown(ctx, r.dir, r.bus, st, &open[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Decide answers a decision as it was shown, and returns what becomes of it. One that has an answer by now, or is about another
// attempt, is a mistake of the caller and changes nothing. A run that no process carries out keeps the answer.
func (r *Run) Decide(ctx context.Context, d Decision, c Choice) (string, error) {
	return r.ask(ctx, conductor.Request{Verb: conductor.VerbDecide, Answer: &run.Answer{
		ID: d.ID, Attempt: d.Attempt, Option: c.Option, Text: c.Text, Of: c.Task, Alike: c.Alike,
	}})
}

// TakeBack takes back the answer to a decision, and returns what is open again. It is a mistake of the caller once the run has
// acted on the answer, unless it stands for others too: then it stands for no other any more.
func (r *Run) TakeBack(ctx context.Context, decision string) (string, error) {
	return r.ask(ctx, conductor.Request{Verb: conductor.VerbDecide, Answer: &run.Answer{ID: decision, Back: true}})
}

// shown is a decision with what a person needs to see of it.
func shown(ctx context.Context, dir store.Dir, b *bus.Bus, st *run.State, d *run.Decision) (out Decision, err error) {
	out = Decision{
		Run: st.Spec.Run, ID: d.ID, Kind: string(d.Kind), About: d.About, Attempt: d.Attempt, Text: d.Text, Evidence: d.Evidence,
		Choices: d.Choices, Suggests: d.Suggested, Decider: d.Decider.Who, Why: d.Decider.Why, Blocks: d.Blocks,
		Reserved: d.Reserved,
	}
	for _, o := range d.Options {
		out.Options = append(out.Options, Option{Name: o.Name, Does: o.Does, NeedsText: o.NeedsText})
	}
	if d.Kind == run.DecidePlan {
		if out.Plan, err = json.Marshal(st.Plans.Now(d.Plan, &st.Tasks)); err != nil {
			return out, fmt.Errorf("show the plan: %w", err)
		}
	}
	for _, task := range d.Patches {
		out.Patches = append(out.Patches, patchOf(ctx, dir, b, st, task))
		if ctx.Err() != nil {
			return out, fmt.Errorf("read the patch of %s: %w", task, ctx.Err())
		}
	}
	t := st.Tasks.ByID[d.About]
	if t != nil && len(out.Patches) == 1 && out.Patches[0].Task == d.About && out.Patches[0].Fault == "" {
		out.Alike = decision.Shape(t, d, out.Patches[0].Diff)
	}
	return out, nil
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
