package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"divisi/bus"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/request"
	"divisi/subagents/wire"
)

// Isolated is what came of the quarantine of a worker: whether the server admits it no more, and what follows in the runs that it
// has worked for, the newest first.
type Isolated struct {
	Worker  string        `json:"worker"`
	Revoked bool          `json:"revoked"`
	Runs    []IsolatedRun `json:"runs,omitempty"`
}

// IsolatedRun is what follows in one run, in a sentence; Error is why it is not in quarantine there.
type IsolatedRun struct {
	Run   string `json:"run"`
	Text  string `json:"text,omitempty"`
	Error string `json:"error,omitempty"`
}

// Quarantine has the host on a server put a worker into quarantine: it is stopped at once, the limits of model
// services that it told others hold no more, nothing that it alone has proven since
// a time counts any more, and what has landed so is proven again before its run ends.
func Quarantine(ctx context.Context, at Server, worker string, since time.Time) (Isolated, error) {
	a, err := on(at).ask(ctx, hostCall{Verb: verbQuarantine, Worker: worker, Since: since})
	if err != nil || a.Isolated == nil {
		return Isolated{}, err
	}
	return *a.Isolated, nil
}

// isolate puts a worker into quarantine for a person: first on the server, then in each run.
func (h *Host) isolate(ctx context.Context, by string, q *hostCall) (*Isolated, error) {
	if !bus.ValidToken(q.Worker) {
		return nil, usage.Errorf("%.80q is no name of a worker", q.Worker)
	}
	if q.Since.After(now()) {
		return nil, usage.Errorf("a quarantine since %s would begin later: name a time that is over",
			q.Since.Format(time.RFC3339))
	}
	a := &Isolated{Worker: q.Worker}
	var err error
	if h.o.revoke != nil {
		if a.Revoked, err = h.o.revoke(q.Worker); err != nil {
			return nil, fmt.Errorf("revoke worker %s: %w", q.Worker, err)
		}
	}
	if err := h.bus.Publish(ctx, bus.FreedSubject(q.Worker), nil); err != nil {
		return nil, fmt.Errorf("end the limits that worker %s told others: %w", q.Worker, err)
	}
	ask, err := act.NewRequest(act.Quarantine{Worker: q.Worker, Since: q.Since}, account())
	if err != nil {
		return nil, err
	}
	if by != bus.Local {
		ask.By, ask.From = wire.Person(by), by
	}
	for _, id := range h.list() {
		text, err := h.isolateIn(ctx, id, ask)
		switch {
		case errors.As(err, new(*request.RefusedError)): // the worker has proven nothing there
			h.dir.Log.Debug().Err(err).Str("run", id).Msg("a quarantine means nothing for the run")
		case err != nil:
			a.Runs = append(a.Runs, IsolatedRun{Run: id, Error: err.Error()})
		default:
			a.Runs = append(a.Runs, IsolatedRun{Run: id, Text: text})
		}
	}
	return a, nil
}

// isolateIn puts a worker into quarantine in a run.
func (h *Host) isolateIn(ctx context.Context, id string, q act.Request) (string, error) {
	if h.active(id) {
		return conductor.Ask(ctx, h.bus, id, q)
	}
	r, err := attach(ctx, h.dir, id)
	if err != nil {
		return "", err
	}
	text, _, err := r.do(ctx, q)
	return text, errors.Join(err, r.Close())
}
