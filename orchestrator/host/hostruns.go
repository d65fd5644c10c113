package host

import (
	"context"

	"divisi/orchestrator/act"
	"divisi/orchestrator/client"
)

// Hosted are the runs of a host in this process; veiled ones without what commands printed.
type Hosted struct {
	Host   *Host
	Veiled bool
}

// List implements Runs.
func (h Hosted) List(context.Context) ([]string, error) { return h.Host.List(), nil }

// Open implements Runs.
func (h Hosted) Open(ctx context.Context, id string) (*client.Run, error) {
	r, err := client.Attach(ctx, h.Host.Dir, id)
	if err != nil {
		return nil, err
	}
	r.Served = h.Host
	if h.Veiled {
		h.Host.conceal(r)
	}
	return r, nil
}

// Held is an error where another host may conduct the runs by now.
func (h *Host) Held() error { return h.Lease.Held() }

// Put puts a request of a visitor of the page to a run that no process carries out, as answer does for a member.
func (h *Host) Put(ctx context.Context, r *client.Run, q act.Request) (outcome string, err error) {
	if err = h.Lease.Held(); err == nil { // else another host may go on with it
		outcome, err = client.Put(ctx, r, q)
	}
	h.runAsked(r.Name, q.From, &q, err)
	return outcome, err
}

// Summary implements Runs.
func (h Hosted) Summary(ctx context.Context, id string) (client.Summary, error) {
	if h.Veiled {
		return h.Host.viewed(ctx, id)
	}
	return client.Place(h.Host.Dir.Path).Summary(ctx, id)
}
