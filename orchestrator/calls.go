package orchestrator

import (
	"context"
	"errors"
	"slices"

	"divisi/bus"
	"divisi/contextscope/memory"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/call"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/plan"
	"divisi/subagents/wire"
	"divisi/subagents/worker"
)

// conductorCalls is all that a worker can ask of a conductor.
var conductorCalls = call.TableOf(
	call.On(call.ConductorPlan, (*conduct).checkPlan), call.On(call.ConductorForeign, (*conduct).placed),
	call.On(call.ConductorPropose, (*conduct).keepNote), call.On(call.ConductorSearch, (*conduct).search),
	call.On(call.ConductorRecall, (*conduct).recall), call.On(call.ConductorRefresh, (*conduct).refresh),
	call.On(call.ConductorGrant, (*conduct).granted), call.On(call.ConductorFull, (*conduct).measure),
	call.On(call.ConductorEnlist, (*conduct).enlist), call.On(call.ConductorLeave, (*conduct).leave),
	call.On(call.ConductorPack, (*conduct).lendPack), call.On(call.ConductorRead, (*conduct).show),
	call.On(call.ConductorGap, (*conduct).noteGap),
)

// answerer answers the calls of working halves.
func (h *conduct) answerer() *call.Answerer[*conduct] {
	return &call.Answerer[*conduct]{
		Table: conductorCalls, As: h, Bus: h.bus, Log: h.log, Pace: &h.pace, Held: h.held, May: h.may, Gone: "the conductor stops",
	}
}

// listen answers the calls of working halves, until stop, which waits for those under way.
func (h *conduct) listen(ctx context.Context) (stop func(), err error) {
	return h.answerer().Listen(ctx, bus.CallFilter(h.spec.Run))
}

// may refuses a call of a worker that may not make it.
func (h *conduct) may(ctx context.Context, may call.Who, c *call.In) error {
	switch {
	case may == call.OwnHands && (h.Elsewhere || c.From != worker.LocalName):
		return call.Refusedf("%s is no call of worker %s", c.Name, c.From)
	case !h.Elsewhere && c.From != worker.LocalName:
		return call.Refusedf("run %s has no other worker than this process, and %s calls", h.spec.Run, c.From)
	case may == call.Counted && h.Elsewhere:
		return h.cond.Counts(ctx, c.From)
	case may == call.Holder || may == call.Planner:
		return h.cond.Holds(ctx, c.From, c.At.Task, c.At.Attempt, may == call.Planner)
	}
	return nil
}

func (h *conduct) checkPlan(ctx context.Context, _ *call.In, p *spec.Plan) (plan.Checked, error) {
	h.planning.Lock()
	defer h.planning.Unlock()
	st, err := eventlog.Fold(ctx, h.bus, h.spec.Run)
	if err != nil {
		return plan.Checked{}, err
	}
	return plan.Check(ctx, *p, st, h.tree(st.Head, st.Environment()))
}

func (h *conduct) placed(ctx context.Context, c *call.In, f *wire.Foreign) (wire.Placed, error) {
	f.Worker, f.Task, f.Attempt = c.From, c.At.Task, c.At.Attempt
	if err := f.Check(); err != nil {
		return wire.Placed{}, err
	}
	return h.cond.Place(ctx, *f)
}

func (h *conduct) show(ctx context.Context, c *call.In, q *wire.Reading) (wire.Page, error) {
	q.Task, q.Attempt = c.At.Task, c.At.Attempt
	return h.cond.Read(ctx, c.From, *q)
}

func (h *conduct) leave(ctx context.Context, c *call.In, lacks *string) (call.None, error) {
	return call.None{}, h.cond.Discharge(ctx, c.From, *lacks)
}

// maxGap bounds what is noted of the recording, in characters.
const maxGap = 1000

func (h *conduct) noteGap(_ context.Context, _ *call.In, gap *string) (call.None, error) {
	h.gaps.Store(new(text.Short(text.OneLine(*gap), maxGap)))
	return call.None{}, nil
}

// measure ends the run where its store takes nothing more. That a worker met it so is no reason: the store is tried here.
func (h *conduct) measure(ctx context.Context, _ *call.In, _ *string) (call.None, error) {
	err := h.bus.Cache().Put(ctx, "room-"+now().Format("20060102T1504"), []byte{0})
	if errors.Is(err, bus.ErrFull) {
		h.full(err)
	}
	return call.None{}, err
}

// noted has the memory, where the run has one.
func (h *conduct) noted() (*memory.Memory, error) {
	if h.notes == nil {
		return nil, errors.New("the run has no memory")
	}
	return h.notes, nil
}

func (h *conduct) search(ctx context.Context, _ *call.In, q *call.Asking) ([]memory.Hit, error) {
	m, err := h.noted()
	if err != nil {
		return nil, err
	}
	return m.Search(ctx, q.Text, q.Most)
}

func (h *conduct) recall(ctx context.Context, _ *call.In, q *call.Asking) (r call.Recalled, err error) {
	m, err := h.noted()
	if err == nil {
		r.Recalled, r.Notes = m.Recall(ctx, q.Text, q.Most)
	}
	return r, err
}

func (h *conduct) keepNote(ctx context.Context, c *call.In, n *memory.Note) (id string, err error) {
	m, err := h.noted()
	if err != nil {
		return "", err
	}
	n.Source = h.spec.Run + "/" + c.At.Task
	return m.Propose(ctx, *n)
}

func (h *conduct) refresh(ctx context.Context, _ *call.In, _ *call.None) (has bool, err error) {
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
func (h *conduct) lendPack(ctx context.Context, _ *call.In, l *call.Lacking) (call.Pack, error) {
	p, err := h.packed(ctx, l)
	return call.Pack(p), err
}

func (h *conduct) packed(ctx context.Context, l *call.Lacking) (sealedPack, error) {
	none := func(c string) bool { return !wire.IsCommit(c) }
	switch {
	case l.Commit != "" && none(l.Commit) || slices.ContainsFunc(l.Have, none):
		return sealedPack{}, call.Refusedf("%.80q, or one of what the worker has, is no commit", l.Commit)
	case l.Past:
		return h.packPast(ctx, l.Have)
	case l.Module != "":
		return h.packModule(ctx, l.Module, l.Commit, l.Have)
	case l.Commit != "":
		return h.pack(ctx, l.Commit, l.Have)
	case l.Environment != "":
		return h.packEnvironment(ctx, l.Environment)
	case l.Content == nil:
		return sealedPack{}, call.Refusedf("the call names nothing that the worker lacks")
	case !slices.Contains(h.beside.Pointers(), *l.Content):
		return sealedPack{}, nil
	}
	return putContent(ctx, h.bus.Cache(), h.besides(h.git), *l.Content)
}
