package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"divisi/bus"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/call"
	"divisi/orchestrator/client"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/request"
	"divisi/subagents/wire"
)

type (
	// Isolated is the result of the quarantine of a worker.
	Isolated = call.Isolated
	// IsolatedRun is the consequence for one run.
	IsolatedRun = call.IsolatedRun
)

// Quarantine has the host on a server put a worker into quarantine: it is stopped at once, the limits of model
// services that it told others hold no more, nothing that it alone has proven since
// a time counts any more, and what has landed so is proven again before its run ends.
func Quarantine(ctx context.Context, at depot.Server, worker string, since time.Time) (Isolated, error) {
	return client.AskOn(ctx, at, call.HostQuarantine, "", call.Quarantine{Worker: worker, Since: since})
}

// isolate puts a worker into quarantine for a person: first on the server, then in each run.
func (h *Host) isolate(ctx context.Context, in *call.In, q *call.Quarantine) (a Isolated, err error) {
	if !bus.ValidToken(q.Worker) {
		return a, usage.Errorf("%.80q is no name of a worker", q.Worker)
	}
	if q.Since.After(depot.Now()) {
		return a, usage.Errorf("a quarantine since %s would begin later: name a time that is over",
			q.Since.Format(time.RFC3339))
	}
	a.Worker = q.Worker
	if h.o.Revoke != nil {
		if a.Revoked, err = h.o.Revoke(q.Worker); err != nil {
			return a, fmt.Errorf("revoke worker %s: %w", q.Worker, err)
		}
	}
	if err := h.bus.Publish(ctx, bus.FreedSubject(q.Worker), nil); err != nil {
		return a, fmt.Errorf("end the limits that worker %s told others: %w", q.Worker, err)
	}
	ask, err := act.NewRequest(act.Quarantine{Worker: q.Worker, Since: q.Since}, depot.Account())
	if err != nil {
		return a, err
	}
	if by := h.by(in); by != bus.Local {
		ask.By, ask.From = wire.Person(by), by
	}
	for _, id := range h.List() {
		out, err := h.isolateIn(ctx, id, ask)
		switch {
		case errors.As(err, new(*request.RefusedError)): // the worker has proven nothing there
			h.Dir.Log.Debug().Err(err).Str("run", id).Msg("a quarantine means nothing for the run")
		case err != nil:
			a.Runs = append(a.Runs, IsolatedRun{Run: id, Error: err.Error()})
		default:
			a.Runs = append(a.Runs, IsolatedRun{Run: id, Text: out.Text})
		}
	}
	return a, nil
}

// isolateIn puts a worker into quarantine in a run.
func (h *Host) isolateIn(ctx context.Context, id string, q act.Request) (out act.Outcome, err error) {
	if h.Active(id) {
		return conductor.Ask(ctx, h.bus, id, q)
	}
	r, err := client.Attach(ctx, h.Dir, id)
	if err != nil {
		return out, err
	}
	if rest, ok := r.At.(*client.Rest); ok {
		out, _, err = rest.Do(ctx, q)
	} else { // it has begun meanwhile
		out, err = conductor.Ask(ctx, h.bus, id, q)
	}
	return out, errors.Join(err, r.Close())
}
