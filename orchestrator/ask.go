package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/contextscope/memory"
	"divisi/internal/spec"
	"divisi/orchestrator/plan"
	"divisi/subagents/wire"
	"divisi/subagents/worker"
)

// callTimeout bounds a call: the commands of shard rules may take minutes.
const callTimeout = 10 * time.Minute

// ask calls the conducting half, and again where no answer came: a call does the same when it is done twice.
func (w *work) ask(ctx context.Context, c call) (a answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	data, err := json.Marshal(c)
	if err == nil {
		a, err = w.request(ctx, data)
	}
	switch {
	case err != nil:
		return a, fmt.Errorf("ask the conductor of run %s: %w", w.run, err)
	case a.Refused && c.name == callPropose:
		return a, fmt.Errorf("%w%s", memory.ErrRefused, strings.TrimPrefix(a.Error, memory.ErrRefused.Error()))
	case a.Error != "":
		return a, &calledError{a.Error, a.Refused}
	}
	return a, nil
}

// nextConductor is how long a call waits for a conductor, where there is none or the one that was asked has gone.
const nextConductor = time.Minute

// soonAgain is after how long a call is made again for which there was no place; each time it is longer, up to enlistRetry.
const soonAgain = 50 * time.Millisecond

// request makes a call, and makes it again where its conductor stops, is gone or has no place for it.
func (w *work) request(ctx context.Context, data []byte) (a answer, err error) {
	for until, pause := now().Add(nextConductor), soonAgain; ; {
		got, err := w.bus.Request(ctx, bus.CallSubject(w.run, w.worker()), data)
		if a = (answer{}); err == nil {
			err = json.Unmarshal(got, &a)
		}
		switch {
		case errors.Is(err, bus.ErrNoAnswer) && ctx.Err() == nil:
			until = now().Add(nextConductor)
			continue
		case err == nil && a.Again:
			pause = min(2*pause, enlistRetry)
		case err == nil && a.Gone:
			until, pause = now().Add(nextConductor), enlistRetry
		case !errors.Is(err, bus.ErrNoListener) || !now().Before(until):
			return a, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return a, context.Cause(ctx)
		}
	}
}

// calledError is why the conducting half does not do what a call asks for: it refuses that, or could not.
type calledError struct {
	why     string
	refused bool
}

func (e *calledError) Error() string { return e.why }

// worker is the name of the worker in this process.
func (w *work) worker() string {
	if w.engaged != nil {
		return w.engaged.worker.o.Name
	}
	return worker.LocalName
}

// checks has plans of an attempt checked.
func (w *work) checks(of *wire.Assignment) func(context.Context, spec.Plan) (plan.Checked, error) {
	return func(ctx context.Context, p spec.Plan) (plan.Checked, error) {
		a, err := w.ask(ctx, call{name: callPlan, at: &attemptRef{of.Task.ID, of.Attempt}, body: p})
		return a.Checked, err
	}
}

// remote is the memory of the repository, which the conducting half has.
type remote struct{ w *work }

// Search implements artifacts.Memory.
func (r remote) Search(ctx context.Context, query string, limit int) ([]memory.Hit, error) {
	if query == "" {
		return nil, nil
	}
	a, err := r.w.ask(ctx, call{name: callSearch, body: asking{query, limit}})
	return a.Hits, err
}

// Propose implements artifacts.Memory.
func (r remote) Propose(ctx context.Context, n memory.Note) (string, error) {
	a, err := r.w.ask(ctx, call{name: callPropose, at: &attemptRef{Task: path.Base(n.Source)}, body: n})
	return a.ID, err
}

// Recall implements agent.Memory.
func (r remote) Recall(ctx context.Context, query string, maxTokens int) ([]contextscope.Recalled, []string) {
	if query == "" {
		return nil, nil
	}
	a, err := r.w.ask(ctx, call{name: callRecall, body: asking{query, maxTokens}})
	if err != nil {
		return nil, []string{"nothing was recalled: " + err.Error()}
	}
	return a.Recalled, a.Notes
}

// Refresh implements worker.Memory.
func (r remote) Refresh(ctx context.Context) (bool, error) {
	a, err := r.w.ask(ctx, call{name: callRefresh, body: true})
	return a.Has, err
}
