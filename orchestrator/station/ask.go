package station

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/contextscope/memory"
	"divisi/internal/spec"
	"divisi/orchestrator/call"
	"divisi/orchestrator/plan"
	"divisi/subagents/wire"
)

// line is the way to the conducting half.
func (w *Work) line() call.Line {
	l := call.To(w.Bus, bus.CallSubject(w.Run, w.as()))
	l.Insists, l.Waits = true, true
	l.Wrap = func(err error) error {
		if errors.As(err, new(*call.Error)) {
			return err
		}
		return fmt.Errorf("ask the conductor of run %s: %w", w.Run, err)
	}
	return l
}

// Asks calls the conducting half about the newest attempt, or none.
func Asks[Q, A any](ctx context.Context, w *Work, k call.Kind[Q, A], q Q) (A, error) {
	return call.Ask(ctx, w.line(), k, call.Head{}, q)
}

// TellTimeout bounds what is told to the conducting half on the way.
const TellTimeout = 5 * time.Second

// tells calls the conducting half about what is not worth a failure.
func tells[Q, A any](w *Work, k call.Kind[Q, A], q Q) {
	ctx, cancel := context.WithTimeout(context.Background(), TellTimeout)
	defer cancel()
	if _, err := Asks(ctx, w, k, q); err != nil {
		w.Log.Warn().Err(err).Msg("the conductor was not told")
	}
}

// checks has plans of an attempt checked.
func (w *Work) checks(of *wire.Assignment) func(context.Context, spec.Plan) (plan.Checked, error) {
	return func(ctx context.Context, p spec.Plan) (plan.Checked, error) {
		return call.Ask(ctx, w.line(), call.ConductorPlan, call.Head{At: call.At{Task: of.Task.ID, Attempt: of.Attempt}}, p)
	}
}

// remote is the memory of the repository, which the conducting half has.
type remote struct{ w *Work }

// Search implements artifacts.Memory.
func (r remote) Search(ctx context.Context, query string, limit int) ([]memory.Hit, error) {
	if query == "" {
		return nil, nil
	}
	return Asks(ctx, r.w, call.ConductorSearch, call.Asking{Text: query, Most: limit})
}

// Propose implements artifacts.Memory.
func (r remote) Propose(ctx context.Context, n memory.Note) (string, error) {
	id, err := call.Ask(ctx, r.w.line(), call.ConductorPropose, call.Head{At: call.At{Task: path.Base(n.Source)}}, n)
	if call.ClassOf(err) == call.Refused {
		err = fmt.Errorf("%w%s", memory.ErrRefused, strings.TrimPrefix(err.Error(), memory.ErrRefused.Error()))
	}
	return id, err
}

// Recall implements agent.Memory.
func (r remote) Recall(ctx context.Context, query string, maxTokens int) ([]contextscope.Recalled, []string) {
	if query == "" {
		return nil, nil
	}
	a, err := Asks(ctx, r.w, call.ConductorRecall, call.Asking{Text: query, Most: maxTokens})
	if err != nil {
		return nil, []string{"nothing was recalled: " + err.Error()}
	}
	return a.Recalled, a.Notes
}

// Refresh implements worker.Memory.
func (r remote) Refresh(ctx context.Context) (bool, error) {
	return Asks(ctx, r.w, call.ConductorRefresh, call.None{})
}
