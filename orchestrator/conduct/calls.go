package conduct

import (
	"context"
	"errors"
	"slices"

	"divisi/bus"
	"divisi/contextscope/memory"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/station"
	"divisi/subagents/wire"
)

// ConductorCalls is all that a worker can ask of a conductor.
var ConductorCalls = call.TableOf(
	call.On(call.ConductorPlan, (*Half).checkPlan), call.On(call.ConductorForeign, (*Half).placed),
	call.On(call.ConductorPropose, (*Half).keepNote), call.On(call.ConductorSearch, (*Half).search),
	call.On(call.ConductorRecall, (*Half).recall), call.On(call.ConductorRefresh, (*Half).refresh),
	call.On(call.ConductorGrant, (*Half).granted), call.On(call.ConductorFull, (*Half).measure),
	call.On(call.ConductorEnlist, (*Half).enlist), call.On(call.ConductorLeave, (*Half).leave),
	call.On(call.ConductorPack, (*Half).lendPack), call.On(call.ConductorRead, (*Half).show),
	call.On(call.ConductorGap, (*Half).noteGap),
)

// Answerer answers the calls of working halves.
func (h *Half) Answerer() *call.Answerer[*Half] {
	return &call.Answerer[*Half]{
		Table: ConductorCalls, As: h, Bus: h.Bus, Log: h.Log, Pace: &h.pace, Held: h.Held, May: h.may,
		Gone: "the conductor stops",
	}
}

// Listen answers the calls of working halves, until stop, which waits for those under way.
func (h *Half) Listen(ctx context.Context) (stop func(), err error) {
	return h.Answerer().Listen(ctx, bus.CallFilter(h.Spec.Run))
}

// may refuses a call of a worker that may not make it.
func (h *Half) may(ctx context.Context, may call.Who, c *call.In) error {
	err := h.workers().may(ctx, may, c)
	if err == nil && (may == call.Holder || may == call.Planner) {
		err = h.Cond.Holds(ctx, c.From, c.At.Task, c.At.Attempt, may == call.Planner)
	}
	return err
}

func (h *Half) checkPlan(ctx context.Context, _ *call.In, p *spec.Plan) (plan.Checked, error) {
	h.planning.Lock()
	defer h.planning.Unlock()
	st, err := eventlog.Fold(ctx, h.Bus, h.Spec.Run)
	if err != nil {
		return plan.Checked{}, err
	}
	return plan.Check(ctx, *p, &st.Agenda, st.Works, h.Tree(st.Tip(), st.Environment()))
}

func (h *Half) placed(ctx context.Context, c *call.In, f *wire.Foreign) (wire.Placed, error) {
	f.Worker, f.Task, f.Attempt = c.From, c.At.Task, c.At.Attempt
	if err := f.Check(); err != nil {
		return wire.Placed{}, err
	}
	return h.Cond.Place(ctx, *f)
}

func (h *Half) show(ctx context.Context, c *call.In, q *wire.Reading) (wire.Page, error) {
	q.Task, q.Attempt = c.At.Task, c.At.Attempt
	return h.Cond.Read(ctx, c.From, *q)
}

func (h *Half) leave(ctx context.Context, c *call.In, lacks *string) (call.None, error) {
	return call.None{}, h.Cond.Discharge(ctx, c.From, *lacks)
}

// maxGap bounds what is noted of the recording, in characters.
const maxGap = 1000

func (h *Half) noteGap(_ context.Context, _ *call.In, gap *string) (call.None, error) {
	h.gaps.Store(new(text.Short(text.OneLine(*gap), maxGap)))
	return call.None{}, nil
}

// measure ends the run where its store takes nothing more. That a worker met it so is no reason: the store is tried here.
func (h *Half) measure(ctx context.Context, _ *call.In, _ *string) (call.None, error) {
	err := h.Bus.Cache().Put(ctx, "room-"+depot.Now().Format("20060102T1504"), []byte{0})
	if errors.Is(err, bus.ErrFull) {
		h.full(err)
	}
	return call.None{}, err
}

// noted has the memory, where the run has one.
func (h *Half) noted() (*memory.Memory, error) {
	if h.notes == nil {
		return nil, errors.New("the run has no memory")
	}
	return h.notes, nil
}

func (h *Half) search(ctx context.Context, _ *call.In, q *call.Asking) ([]memory.Hit, error) {
	m, err := h.noted()
	if err != nil {
		return nil, err
	}
	return m.Search(ctx, q.Text, q.Most)
}

func (h *Half) recall(ctx context.Context, _ *call.In, q *call.Asking) (r call.Recalled, err error) {
	m, err := h.noted()
	if err == nil {
		r.Recalled, r.Notes = m.Recall(ctx, q.Text, q.Most)
	}
	return r, err
}

func (h *Half) keepNote(ctx context.Context, c *call.In, n *memory.Note) (id string, err error) {
	m, err := h.noted()
	if err != nil {
		return "", err
	}
	n.Source = h.Spec.Run + "/" + c.At.Task
	return m.Propose(ctx, *n)
}

func (h *Half) refresh(ctx context.Context, _ *call.In, _ *call.None) (has bool, err error) {
	m, err := h.noted()
	if err != nil {
		return false, err
	}
	var notes []memory.Note
	if _, err = m.Refresh(ctx); err == nil {
		notes, err = m.List(ctx)
	}
	return len(notes) > 0, err
}

// lendPack puts what a worker lacks into the cache of the bus.
func (h *Half) lendPack(ctx context.Context, _ *call.In, l *call.Lacking) (call.Pack, error) {
	p, err := h.Packed(ctx, l)
	return call.Pack(p), err
}

// Packed puts what a worker lacks into the cache of the bus, and returns where it is.
func (h *Half) Packed(ctx context.Context, l *call.Lacking) (depot.SealedPack, error) {
	none := func(c string) bool { return !wire.IsCommit(c) }
	switch {
	case l.Commit != "" && none(l.Commit) || slices.ContainsFunc(l.Have, none):
		return depot.SealedPack{}, call.Refusedf("%.80q, or one of what the worker has, is no commit", l.Commit)
	case l.Past:
		return h.PackPast(ctx, l.Have)
	case l.Module != "":
		return h.packModule(ctx, l.Module, l.Commit, l.Have)
	case l.Commit != "":
		return h.Pack(ctx, l.Commit, l.Have)
	case l.Environment != "":
		return h.packEnvironment(ctx, l.Environment)
	case l.Content == nil:
		return depot.SealedPack{}, call.Refusedf("the call names nothing that the worker lacks")
	case !slices.Contains(h.Beside.Pointers(), *l.Content):
		return depot.SealedPack{}, nil
	}
	return depot.PutContent(ctx, h.Bus.Cache(), h.Besides(h.Git), *l.Content)
}

// grant answers what a worker says of the budget, and has others return what it waits for.
func (h *Half) grant(ctx context.Context, held *wire.Holding) (*wire.Grant, error) {
	g, err := h.Cond.Grant(ctx, *held)
	if err != nil {
		return nil, err
	}
	if g.Recall != "" {
		h.Say(ctx, h.Bus, bus.RecallSubject(h.Spec.Run), station.Recall{For: g.Recall})
	}
	return &g, nil
}

// granted is grant for what a worker says of itself alone.
func (h *Half) granted(ctx context.Context, c *call.In, held *wire.Holding) (*wire.Grant, error) {
	if held.Worker != c.From {
		return nil, call.Refusedf("worker %s cannot speak for worker %.80q", c.From, held.Worker)
	}
	return h.grant(ctx, held)
}

// enlist counts on a worker, settles what it has of the budget, and exchanges with it what services have said of quotas.
func (h *Half) enlist(ctx context.Context, c *call.In, e *wire.Enlistment) (a call.Enlisted, err error) {
	if e.Worker != c.From {
		return a, call.Refusedf("worker %s cannot speak for worker %.80q", c.From, e.Worker)
	}
	if err := h.Cond.Enlist(ctx, *e); err != nil {
		return a, err
	}
	for _, limit := range e.Limits {
		limit.From = e.Worker
		h.limits.Take(limit.Taken(depot.Now()))
	}
	for _, limit := range h.limits.List() {
		a.Limits = append(a.Limits, limit.Sent(depot.Now()))
	}
	if e.Holding == nil {
		return a, nil
	}
	a.Grant, err = h.grant(ctx, e.Holding)
	return a, err
}
