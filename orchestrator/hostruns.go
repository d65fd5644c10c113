package orchestrator

import (
	"context"

	"divisi/orchestrator/act"
)

// hostRuns are the runs of a host in this process; veiled ones without what commands printed.
type hostRuns struct {
	host   *Host
	veiled bool
}

// List implements Runs.
func (h hostRuns) List(context.Context) ([]string, error) { return h.host.list(), nil }

// Open implements Runs.
func (h hostRuns) Open(ctx context.Context, id string) (*Run, error) {
	r, err := attach(ctx, h.host.dir, id)
	if err != nil {
		return nil, err
	}
	r.served = h.host
	if h.veiled {
		h.host.conceal(r)
	}
	return r, nil
}

func (h *Host) held() error { return h.lease.Held() }

// put puts a request of a visitor of the page to a run that no process carries out, as answer does for a member.
func (h *Host) put(ctx context.Context, r *Run, q act.Request) (outcome string, err error) {
	if err = h.lease.Held(); err == nil { // else another host may go on with it
		outcome, err = put(ctx, r, q)
	}
	h.runAsked(r.id, q.From, &q, err)
	return outcome, err
}

// Summary implements Runs.
func (h hostRuns) Summary(ctx context.Context, id string) (Summary, error) {
	if h.veiled {
		return h.host.viewed(ctx, id)
	}
	return local(h.host.dir.Path).Summary(ctx, id)
}
