package host

import (
	"context"

	"divisi/orchestrator/act"
	"divisi/orchestrator/client"
)

// Hosted are the runs of a host in this process; redacted ones without what commands printed.
type Hosted struct {
	Host     *Host
	Redacted bool
}

// List implements Runs.
func (h Hosted) List(context.Context) ([]string, error) { return h.Host.List(), nil }

// Open implements Runs.
func (h Hosted) Open(ctx context.Context, id string) (*client.Run, error) {
	r, err := client.Attach(ctx, h.Host.Dir, id)
	if err != nil {
		return nil, err
	}
	if r.Sent = true; h.Redacted {
		h.Host.conceal(r)
	}
	h.Host.visited(r)
	return r, nil
}

// visited has a visitor of the page act on a run that no process executes, as a member does.
func (h *Host) visited(r *client.Run) {
	if rest, ok := r.At.(*client.Rest); ok {
		rest.Free = h.lease.Held // else another host may continue with it
		rest.Asked = func(q *act.Request, err error) { h.runAsked(r.Name, q.From, q, err) }
	}
}

// Summary implements Runs.
func (h Hosted) Summary(ctx context.Context, id string) (client.Summary, error) {
	if h.Redacted {
		return h.Host.viewed(ctx, id)
	}
	return client.Place(h.Host.Dir.Path).Summary(ctx, id)
}
