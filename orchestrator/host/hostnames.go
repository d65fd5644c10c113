package host

import (
	"context"

	"divisi/bus"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
	"divisi/subagents/wire"
)

// submits names what this host keeps for a run that a member is going to submit, as its order will.
func (h *Host) submits(q *call.Having, by string) (caches string, err error) {
	w := q.Warrant
	switch m, known := h.member(by); {
	case by == bus.Local: // the server vouches for no names, or it is a process of this machine
	case !known || w == nil || w.Person != by || w.Key != m:
		return "", usage.Errorf("%s does not say with which key of its own it signs the run: use the Divisi of the server's "+
			"version", by)
	}
	if !wire.IsCommit(q.Commit) || !wire.IsCommit(q.Base) {
		return "", usage.Errorf("commits %.80q and %.80q name no repository", q.Commit, q.Base)
	}
	if err := depot.CheckRoots(q.Roots); err != nil {
		return "", usage.Errorf("the run to come: %v", err)
	}
	return depot.CachesOf(w, q.Roots, q.Base, q.Name), nil
}

// member is the key of a member that the server vouches for.
func (h *Host) member(by string) (key string, known bool) {
	if h.o.Members == nil {
		return "", false
	}
	m, known := h.o.Members.Member(by)
	return m.Key, known
}

// ordered is the order that a run was submitted with.
func (h *Host) ordered(ctx context.Context, id, name string) (*depot.Order, error) {
	b, err := h.o.Server.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	defer h.Dir.Close(b)
	return depot.UnsealOrder(ctx, b, id, name)
}
