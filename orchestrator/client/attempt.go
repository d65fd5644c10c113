package client

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"divisi/bus"
	"divisi/configs"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/attempt"
	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/run"
)

// Diff returns the patch of an attempt of a task, or with stat its size for each file, as JSON (docs/landing.md); 0 is the newest
// attempt.
func (r *Run) Diff(ctx context.Context, task string, number int, stat bool) (json.RawMessage, error) {
	return r.diff(ctx, task, number, stat)
}

// Log returns what the gates printed that tested an attempt of a task, as JSON (docs/landing.md); 0 is the newest attempt.
func (r *Run) Log(ctx context.Context, task string, number int) (json.RawMessage, error) {
	return r.look(ctx, task, number, func(ctx context.Context, a *attempt.Attempt) (any, error) { return a.Log(ctx) })
}

// Plan returns the plan of the run as a plan file: the one that it was given, or all of the master's.
func (r *Run) Plan(ctx context.Context) (string, error) {
	ctx, leave, err := r.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	st, err := r.Dir.Fold(ctx, r.At.Log().Bus, r.Name)
	if err != nil {
		return "", err
	}
	if st.Spec.Plan != nil {
		return configs.FormatPlan(*st.Spec.Plan)
	}
	p := plan.Whole(&st.Agenda, st.Works)
	if len(p.Tasks) == 0 {
		return "", usage.With(usage.Errorf("run %s has no plan", r.Name), usage.Show, r.Name)
	}
	return configs.FormatPlan(p)
}

// Take checks an attempt of a task out into a directory that is new or empty and outside the repository, for a person to change,
// and returns what it is as JSON (docs/states.md); 0 is the newest attempt.
func (r *Run) Take(ctx context.Context, task string, number int, dir string) (json.RawMessage, error) {
	if err := r.local("an attempt is taken"); err != nil {
		return nil, err
	}
	return r.look(ctx, task, number, func(ctx context.Context, a *attempt.Attempt) (any, error) { return a.Take(ctx, dir) })
}

// give hands in what a person has changed in a directory that Take filled.
func (r *Run) give(ctx context.Context, g act.Give) (out act.Outcome, err error) {
	if err := r.local("an attempt is given back"); err != nil {
		return out, err
	}
	taken, err := attempt.ReadTaken(g.Dir)
	if err != nil {
		return out, err
	}
	if taken.Run != r.Name || taken.Task != g.Task {
		return out, usage.Errorf("%s is an attempt of %s/%s, not of %s/%s", g.Dir, taken.Run, taken.Task, r.Name, g.Task)
	}
	return r.handIn(ctx, g.Task, taken.Attempt, func(ctx context.Context, a *attempt.Attempt) (act.Args, error) {
		g.Patch, err = a.Give(ctx, taken)
		return g, err
	})
}

// drop takes out what tasks have landed, the newest first, with the patch that undoes each. Nothing is done where one of them
// cannot be taken out.
func (r *Run) drop(ctx context.Context, d act.Drop) (out act.Outcome, err error) {
	if host := HostOf(r); host != nil { // it has what landed
		q, err := act.NewRequest(d, cmp.Or(r.By, depot.Account()))
		if err == nil {
			out, err = AskHost(ctx, host, call.ConductorAct, r.Name, q)
		}
		out.Begins = err == nil && r.NotRunning()
		return out, err
	}
	tasks, err := r.droppable(ctx, d.Tasks)
	var outcomes []string
	for _, task := range tasks {
		d.Tasks = []string{task}
		out, err = r.handIn(ctx, task, 0, func(ctx context.Context, a *attempt.Attempt) (act.Args, error) {
			d.Patch, err = a.Undo(ctx)
			return d, err
		})
		if outcomes = append(outcomes, out.Text); err != nil {
			break
		}
	}
	out.Text = strings.TrimPrefix(strings.Join(outcomes, "\n"), "\n")
	return out, err
}

// droppable returns tasks in the order in which they are taken out, or why one of them cannot be. Two of one change set are one.
func (r *Run) droppable(ctx context.Context, tasks []string) ([]string, error) {
	b, err := r.At.take(ctx)
	if err != nil {
		return nil, err
	}
	st, err := r.Dir.Fold(ctx, b, r.Name)
	if err != nil {
		return nil, err
	}
	ended, taken := map[string]uint64{}, map[uint64]bool{}
	tasks = slices.DeleteFunc(slices.Clone(tasks), func(id string) bool {
		t := st.Tasks.ByID[id]
		if t == nil || t.Task.ChangeSet == "" {
			return false
		}
		again := taken[t.EndedPos]
		taken[t.EndedPos] = true
		return again
	})
	for _, id := range tasks {
		if t := st.Tasks.ByID[id]; t != nil {
			ended[id] = t.EndedPos
		}
		if err := r.find(ctx, b, id, 0, func(ctx context.Context, a *attempt.Attempt) error {
			_, err := a.Undo(ctx)
			return err
		}); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(tasks, func(a, b string) int { return cmp.Compare(ended[b], ended[a]) })
	return slices.Compact(tasks), nil
}

// handIn has an act made with the patch of an attempt, 0 for the newest, and puts it to the run.
func (r *Run) handIn(
	ctx context.Context, task string, number int, with func(context.Context, *attempt.Attempt) (act.Args, error),
) (out act.Outcome, err error) {
	b, err := r.At.take(ctx)
	if err != nil {
		return out, err
	}
	var asked act.Args
	if err := r.find(ctx, b, task, number, func(ctx context.Context, a *attempt.Attempt) (err error) {
		asked, err = with(ctx, a)
		return err
	}); err != nil {
		return out, err
	}
	if out, err = r.ask(ctx, asked); err != nil || !r.NotRunning() {
		return out, err
	}
	st, err := r.Dir.Fold(ctx, b, r.Name)
	out.Begins = err == nil && (st.Status == run.Stopped || !st.Status.Ended())
	return out, err
}

func (r *Run) look(
	ctx context.Context, task string, number int, show func(context.Context, *attempt.Attempt) (any, error),
) (json.RawMessage, error) {
	var v any
	if err := r.find(ctx, r.At.Log().Bus, task, number, func(ctx context.Context, a *attempt.Attempt) (err error) {
		v, err = show(ctx, a)
		return err
	}); err != nil {
		return nil, err
	}
	return spec.JSON(v)
}

// find has something done with an attempt, while the log can be read.
func (r *Run) find(
	ctx context.Context, b *bus.Bus, task string, number int, do func(context.Context, *attempt.Attempt) error,
) error {
	ctx, leave, err := r.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	a, err := attempt.Find(ctx, r.Dir, b, r.Name, task, number)
	if err != nil {
		return err
	}
	return do(ctx, a)
}
