package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/attempt"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/run"
)

// Diff returns the patch of an attempt of a task, or with stat its size for each file, as JSON (docs/landing.md); 0 is the newest
// attempt.
func (r *Run) Diff(ctx context.Context, task string, number int, stat bool) (json.RawMessage, error) {
	if r.host != nil {
		a, err := r.host.ask(ctx, hostCall{Verb: verbDiff, Run: r.id, Task: task, Attempt: number, Stat: stat})
		return a.Data, err
	}
	return r.look(ctx, task, number, func(ctx context.Context, a *attempt.Attempt) (any, error) { return a.Diff(ctx, stat) })
}

// Log returns what the gates printed that tested an attempt of a task, as JSON (docs/landing.md); 0 is the newest attempt.
func (r *Run) Log(ctx context.Context, task string, number int) (json.RawMessage, error) {
	return r.look(ctx, task, number, func(ctx context.Context, a *attempt.Attempt) (any, error) { return a.Log(ctx) })
}

// Take checks an attempt of a task out into a directory that is new or empty and outside the repository, for a person to change,
// and returns what it is as JSON (docs/states.md); 0 is the newest attempt.
func (r *Run) Take(ctx context.Context, task string, number int, dir string) (json.RawMessage, error) {
	if err := r.here("an attempt is taken"); err != nil {
		return nil, err
	}
	return r.look(ctx, task, number, func(ctx context.Context, a *attempt.Attempt) (any, error) { return a.Take(ctx, dir) })
}

// Give hands in what a person has changed in a directory that Take filled, as the next attempt of its task. Where notRunning is
// set no process carries the run out: Resume continues it.
func (r *Run) Give(ctx context.Context, task, dir string) (outcome string, notRunning bool, err error) {
	if err := r.here("an attempt is given back"); err != nil {
		return "", false, err
	}
	taken, err := attempt.ReadTaken(dir)
	if err != nil {
		return "", false, err
	}
	if taken.Run != r.id || taken.Task != task {
		return "", false, usage.Errorf("%s is an attempt of %s/%s, not of %s/%s", dir, taken.Run, taken.Task, r.id, task)
	}
	return r.handIn(ctx, conductor.Request{Verb: conductor.VerbGive, Task: task}, taken.Attempt,
		func(ctx context.Context, a *attempt.Attempt) (*spec.Patch, error) { return a.Give(ctx, taken) })
}

// Drop takes out what tasks have landed, the newest first, each with its whole change set where it is of one: the patch that
// undoes it lands as a task of its own. Nothing is done where one of them cannot be taken out. Where notRunning is set no
// process carries the run out: Resume continues it.
func (r *Run) Drop(ctx context.Context, tasks []string, reason string) (outcome string, notRunning bool, err error) {
	if err := r.here("a landed task is dropped"); err != nil {
		return "", false, err
	}
	if tasks, err = r.droppable(ctx, tasks); err != nil {
		return "", false, err
	}
	var outcomes []string
	for _, task := range tasks {
		outcome, notRunning, err = r.handIn(ctx, conductor.Request{Verb: conductor.VerbDrop, Task: task, Text: reason}, 0,
			func(ctx context.Context, a *attempt.Attempt) (*spec.Patch, error) { return a.Undo(ctx) })
		if outcomes = append(outcomes, outcome); err != nil {
			break
		}
	}
	return strings.TrimPrefix(strings.Join(outcomes, "\n"), "\n"), notRunning, err
}

// droppable returns tasks in the order in which they are taken out, or why one of them cannot be. Two of one change set are one.
func (r *Run) droppable(ctx context.Context, tasks []string) ([]string, error) {
	r.asking.Lock()
	b, err := r.writable(ctx)
	r.asking.Unlock()
	if err != nil {
		return nil, err
	}
	st, err := r.dir.Fold(ctx, b, r.id)
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

// handIn makes a patch from an attempt, 0 for the newest, stores it, and puts the request with it to the run.
func (r *Run) handIn(
	ctx context.Context, q conductor.Request, number int, patch func(context.Context, *attempt.Attempt) (*spec.Patch, error),
) (outcome string, notRunning bool, err error) {
	r.asking.Lock()
	b, err := r.writable(ctx)
	r.asking.Unlock()
	if err != nil {
		return "", false, err
	}
	if err := r.find(ctx, b, q.Task, number, func(ctx context.Context, a *attempt.Attempt) (err error) {
		q.Patch, err = patch(ctx, a)
		return err
	}); err != nil {
		return "", false, err
	}
	if outcome, err = r.ask(ctx, q); err != nil || !r.notRunning {
		return outcome, false, err
	}
	st, err := r.dir.Fold(ctx, b, r.id)
	return outcome, err == nil && (st.Status == run.Stopped || !st.Status.Ended()), err
}

func (r *Run) look(
	ctx context.Context, task string, number int, show func(context.Context, *attempt.Attempt) (any, error),
) (json.RawMessage, error) {
	var v any
	if err := r.find(ctx, r.newest(), task, number, func(ctx context.Context, a *attempt.Attempt) (err error) {
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
	a, err := attempt.Find(ctx, r.dir, b, r.id, task, number)
	if err != nil {
		return err
	}
	return do(ctx, a)
}
