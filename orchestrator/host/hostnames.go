package host

import (
	"cmp"
	"context"

	"divisi/bus"
	"divisi/bus/member"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/depot"
	"divisi/subagents/wire"
)

// submits names what this host keeps for a run that a member is going to submit, as its order will.
func (h *Host) submits(q *call.Having, by string) (caches string, err error) {
	w := q.Warrant
	switch m, known := h.names().Member(by); {
	case by == bus.Local: // the server vouches for no names, or it is a process of this machine
	case !known || w == nil || w.Person != by || w.Key != m.Key:
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

// ordered is the order that a run was submitted with.
func (h *Host) ordered(ctx context.Context, id, name string) (*depot.Order, error) {
	b, err := h.o.Server.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	defer h.Dir.Close(b)
	return depot.UnsealOrder(ctx, b, id, name)
}

// names are those of callers, where the server vouches for them.
type names interface {
	// by is the member that asks; bus.Local where the server does not vouch for its name.
	by(subject string) string
	// visitor is the person whom the server itself asks for.
	visitor(named string) string
	// Member finds a member that the server vouches for.
	Member(name string) (member.Member, bool)
	// admits refuses a run whose person is no member any more. Another key of the member changes nothing.
	admits(w *wire.Warrant) error
}

// names chooses by what the host was made with.
func (h *Host) names() names {
	if h.o.Members == nil {
		return unnamed{}
	}
	return vouched{h.o.Members}
}

type unnamed struct{}

func (unnamed) by(string) string { return bus.Local }

func (unnamed) visitor(string) string { return bus.Local }

// Member implements names.
func (unnamed) Member(string) (none member.Member, known bool) { return none, false }

func (unnamed) admits(*wire.Warrant) error { return nil }

type vouched struct{ *member.Registry }

func (vouched) by(subject string) string { return bus.Caller(subject) }

func (vouched) visitor(named string) string { return cmp.Or(named, bus.Local) }

func (v vouched) admits(w *wire.Warrant) error {
	if w == nil {
		return nil
	}
	if m, known := v.Member(w.Person); !known || m.Role != member.Person {
		return usage.Errorf("%v: %s", conductor.ErrDisowned, w.Person)
	}
	return nil
}
