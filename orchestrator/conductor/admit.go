package conductor

import (
	"cmp"
	"context"
	"slices"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/ledger"
	"divisi/orchestrator/request"
	"divisi/subagents/wire"
)

// Counts refuses a worker elsewhere that the run does not count on. It may be called from any goroutine while Run is under way.
func (c *Conductor) Counts(ctx context.Context, worker string) error {
	return c.within(ctx, func(context.Context) error { return c.counts(worker) })
}

func (c *roster) counts(worker string) error {
	if c.st.Quarantines[worker] != nil {
		return request.Refusedf("worker %s is in quarantine in this run", worker)
	}
	return c.workers.knows(worker)
}

// Holds refuses a worker that does not have an attempt of a task, 0 for the newest, or whose attempt has ended; and with plans,
// one whose role may not plan. It may be called from any goroutine while Run is under way.
func (c *Conductor) Holds(ctx context.Context, worker, task string, attempt int, plans bool) error {
	var owner wire.Owner
	var session, own string
	var from uint64
	err := c.within(ctx, func(context.Context) error {
		w := c.st.Works[task]
		if attempt == 0 && w != nil {
			attempt = w.Last
		}
		a := w.At(attempt)
		if err := c.open(worker, task, attempt, plans); err != nil {
			return err
		}
		owner, from, session = a.Owner, a.StartedPos+1, bus.AttemptFilter(c.cfg.Run, w.RoleAt(attempt), task, attempt)
		own = bus.AttemptSubject(c.cfg.Run, worker, w.RoleAt(attempt), task, attempt)
		return nil
	})
	if err != nil || owner.Worker == worker {
		return err
	}
	if m, err := c.cfg.Bus.Last(ctx, own); err != nil || m == nil { // it never began: the session of another is not read for it
		return cmp.Or(err, request.Refusedf("worker %s does not have attempt %.80s", worker, wire.AgentID(task, attempt)))
	}
	for m, err := range c.cfg.Bus.Read(ctx, session, from) { // which the conductor may not have folded yet
		if err != nil {
			return err
		}
		for _, e := range eventlog.Events(m) {
			_ = owner.Admit(&e) // what it refuses changes no owner
		}
	}
	if owner.Worker != worker {
		return request.Refusedf("worker %s does not have attempt %.80s", worker, wire.AgentID(task, attempt))
	}
	return nil
}

// open refuses an attempt that a worker can ask nothing about.
func (c *roster) open(worker, task string, attempt int, plans bool) error {
	a, agent := c.st.Works[task].At(attempt), wire.AgentID(task, attempt)
	switch {
	case a == nil || a.Role == "":
		return request.Refusedf("run %s has given out no attempt %.80s", c.cfg.Run, agent)
	case a.Result != nil:
		return request.Refusedf("attempt %.80s has ended", agent)
	case plans && !slices.Contains(c.st.Spec.Roles[a.Role].Tools, spec.ToolDispatch):
		return request.Refusedf("role %s of attempt %.80s may not plan: it lacks the tool %s", a.Role, agent, spec.ToolDispatch)
	}
	return c.counts(worker)
}

// Grant notes what a worker has of the budget and grants it what it needs, where that is free. It may be called from any
// goroutine while Run is under way, and fails when the run ends.
func (c *Conductor) Grant(ctx context.Context, h wire.Holding) (wire.Grant, error) {
	done := make(chan wire.Grant, 1)
	err := c.within(ctx, func(context.Context) error {
		g, err := c.grant(&h)
		done <- g
		return err
	})
	if err != nil {
		return wire.Grant{}, err
	}
	return <-done, nil
}

func (c *roster) grant(h *wire.Holding) (wire.Grant, error) {
	if err := h.Check(); err != nil {
		return wire.Grant{}, request.Refusedf("%s", err.Error())
	}
	if _, counted := c.st.Crew[h.Worker]; !counted {
		return wire.Grant{}, request.Refusedf("the run does not count on worker %s, which has to enlist again", h.Worker)
	}
	book := &ledger.Book{Budget: c.st.Budget, Spent: c.st.Held(), Reserved: c.st.Reserved, By: c.st.Spent}
	return c.ledger.Take(*h, book, c.cfg.Clock()), nil
}
