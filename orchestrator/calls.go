package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/contextscope/memory"
	"divisi/internal/spec"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/request"
	"divisi/subagents/wire"
	"divisi/subagents/worker"
)

// call is what the half of a run that works asks of the half that conducts, over the bus: one field is set.
type call struct {
	// Plan is to be checked on the present run: Checked.
	Plan *spec.Plan `json:"plan,omitempty"`
	// Commit is one that the caller's mirror lacks, which has Have: Object, of Size bytes.
	// With Module it is one of the submodule at that place, without what leads to it; no Object is none that is lent.
	Commit string   `json:"commit,omitempty"`
	Have   []string `json:"have,omitempty"`
	Module string   `json:"module,omitempty"`
	// Content is of Git LFS: Object likewise.
	Content *spec.Pointer `json:"content,omitempty"`
	// Environment is the id of one that was taken from a checkout: Object likewise.
	Environment string `json:"environment,omitempty"`
	// Search and Recall are queries of the memory, for at most Most notes or tokens: Hits, or Recalled and Notes.
	Search string `json:"search,omitempty"`
	Recall string `json:"recall,omitempty"`
	Most   int    `json:"most,omitempty"`
	// Propose is a note for the memory: ID.
	Propose *memory.Note `json:"propose,omitempty"`
	// Refresh reads what was noted since: Has.
	Refresh bool `json:"refresh,omitempty"`
	// Enlist counts on the worker from now on: Grant and Limits; Leave no more.
	Enlist *wire.Enlistment `json:"enlist,omitempty"`
	Leave  bool             `json:"leave,omitempty"`
	// Grant is what the worker has of the budget, and needs: Grant.
	Grant *wire.Holding `json:"grant,omitempty"`
	// Foreign asks what to do about an attempt without a baseline of the worker's environment: Placed.
	Foreign *wire.Foreign `json:"foreign,omitempty"`
	// Read asks for messages of the log: Page.
	Read *wire.Reading `json:"read,omitempty"`
	// Gap is what a person should know of the recording by now; Full is why the store can take no more events.
	Gap  string `json:"gap,omitempty"`
	Full string `json:"full,omitempty"`

	from string // the worker that calls
}

// answer is what becomes of a call.
type answer struct {
	// Error is why nothing does; Refused reports that what was asked for is at fault.
	Error   string `json:"error,omitempty"`
	Refused bool   `json:"refused,omitempty"`
	// Gone is the answer of a conductor that stops: who conducts next does what is asked.
	Gone bool `json:"gone,omitempty"`

	Checked  plan.Checked            `json:"checked,omitzero"`
	Object   string                  `json:"object,omitempty"`
	Size     int64                   `json:"size,omitempty"`
	Hits     []memory.Hit            `json:"hits,omitempty"`
	Recalled []contextscope.Recalled `json:"recalled,omitempty"`
	Notes    []string                `json:"notes,omitempty"`
	ID       string                  `json:"id,omitempty"`
	Has      bool                    `json:"has,omitempty"`
	Grant    *wire.Grant             `json:"grant,omitempty"`
	Limits   []spec.Wait             `json:"limits,omitempty"`
	Placed   wire.Placed             `json:"placed,omitzero"`
	Page     wire.Page               `json:"page,omitzero"`
}

// maxCalls bounds the calls that are answered at once. The others wait on the bus.
const maxCalls = 64

// listen answers the calls of working halves, until stop, which waits for those under way.
func (h *conduct) listen(ctx context.Context) (stop func(), err error) {
	return answerCalls(ctx, h.bus, bus.CallFilter(h.spec.Run), h.log, func(ctx context.Context, m bus.Message) ([]byte, error) {
		if h.held != nil {
			if err := h.held(); err != nil {
				return nil, err // another host answers
			}
		}
		a := h.answer(ctx, m)
		if ctx.Err() != nil {
			a = answer{Gone: true, Error: "the conductor stops"}
		}
		return json.Marshal(a)
	})
}

// answerCalls answers the calls on a subject, until stop, which waits for those under way.
func answerCalls(
	ctx context.Context, b *bus.Bus, subject string, log zerolog.Logger,
	answer func(context.Context, bus.Message) ([]byte, error),
) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var under sync.WaitGroup
	room := make(chan struct{}, maxCalls)
	unsubscribe, err := b.Subscribe(ctx, subject, func(m bus.Message, reply func([]byte) error) {
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return
		}
		under.Go(func() {
			defer func() { <-room }()
			still := bus.Working(ctx, reply)
			data, err := answer(ctx, m)
			still()
			if err == nil {
				err = reply(data)
			}
			if err != nil {
				log.Warn().Err(err).Str("subject", subject).Msg("a call was not answered")
			}
		})
	})
	if err != nil {
		cancel()
		return nil, err
	}
	return func() { cancel(); unsubscribe(); under.Wait() }, nil
}

func (h *conduct) answer(ctx context.Context, m bus.Message) answer {
	var c call
	err := json.Unmarshal(m.Data, &c)
	c.from = bus.Caller(m.Subject)
	var a answer
	if err == nil {
		a, err = h.do(ctx, &c)
	}
	if err != nil {
		a = failed(err)
	}
	return a
}

// failed is the answer to a call that nothing becomes of.
func failed(err error) answer {
	refused := errors.Is(err, memory.ErrRefused) || errors.As(err, new(*request.RefusedError))
	return answer{Error: err.Error(), Refused: refused}
}

func (h *conduct) do(ctx context.Context, c *call) (a answer, err error) {
	switch {
	case c.Plan != nil:
		h.planning.Lock()
		defer h.planning.Unlock()
		st, err := conductor.Fold(ctx, h.bus, h.spec.Run)
		if err == nil {
			a.Checked, err = plan.Check(ctx, *c.Plan, st, h.tree(st.Head, st.Environment()))
		}
		return a, err
	case c.Enlist != nil && c.Enlist.Worker != c.from:
		return a, fmt.Errorf("worker %s cannot speak for worker %.80q", c.from, c.Enlist.Worker)
	case c.Enlist != nil:
		return h.enlist(ctx, c.Enlist)
	case c.Grant != nil && c.Grant.Worker != c.from:
		return a, fmt.Errorf("worker %s cannot speak for worker %.80q", c.from, c.Grant.Worker)
	case c.Grant != nil:
		a.Grant, err = h.grant(ctx, c.Grant)
		return a, err
	case c.Foreign != nil:
		c.Foreign.Worker = c.from
		if err = c.Foreign.Check(); err == nil {
			a.Placed, err = h.cond.Place(ctx, *c.Foreign)
		}
		return a, err
	case c.Read != nil:
		a.Page, err = h.cond.Read(ctx, c.from, *c.Read)
		return a, err
	case c.Leave:
		return a, h.cond.Discharge(ctx, c.from)
	case c.Commit != "" || c.Content != nil || c.Environment != "":
		p, err := h.packed(ctx, c)
		a.Object, a.Size = p.name, p.size
		return a, err
	case c.Gap != "":
		h.gaps.Store(&c.Gap)
		return a, nil
	case c.Full != "":
		h.full(fmt.Errorf("%w: %s", bus.ErrFull, strings.TrimPrefix(c.Full, bus.ErrFull.Error()+": ")))
		return a, nil
	case h.notes == nil:
		return a, errors.New("the run has no memory")
	case c.Search != "":
		a.Hits, err = h.notes.Search(ctx, c.Search, c.Most)
	case c.Recall != "":
		a.Recalled, a.Notes = h.notes.Recall(ctx, c.Recall, c.Most)
	case c.Propose != nil:
		a.ID, err = h.notes.Propose(ctx, *c.Propose)
	case c.Refresh:
		var notes []memory.Note
		if _, err = h.notes.Refresh(ctx); err == nil {
			notes, err = h.notes.List(ctx)
		}
		a.Has = len(notes) > 0
	default:
		err = errors.New("the call asks for nothing that is known here")
	}
	return a, err
}

// packed puts what a worker lacks into the cache of the bus.
func (h *conduct) packed(ctx context.Context, c *call) (sealedPack, error) {
	switch {
	case c.Module != "":
		return h.packModule(ctx, c.Module, c.Commit, c.Have)
	case c.Commit != "":
		return h.pack(ctx, c.Commit, c.Have)
	case c.Environment != "":
		return h.packEnvironment(ctx, c.Environment)
	case !slices.Contains(h.beside.Pointers(), *c.Content):
		return sealedPack{}, nil
	}
	return putContent(ctx, h.bus.Cache(), h.besides(h.git), *c.Content)
}

// callTimeout bounds a call: the commands of shard rules may take minutes.
const callTimeout = 10 * time.Minute

// ask calls the conducting half, and again where no answer came: a call does the same when it is done twice.
func (w *work) ask(ctx context.Context, c call) (a answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	data, err := json.Marshal(c)
	if err == nil {
		a, err = w.request(ctx, data)
	}
	switch {
	case err != nil:
		return a, fmt.Errorf("ask the conductor of run %s: %w", w.run, err)
	case a.Refused && c.Propose != nil:
		return a, fmt.Errorf("%w%s", memory.ErrRefused, strings.TrimPrefix(a.Error, memory.ErrRefused.Error()))
	case a.Error != "":
		return a, &calledError{a.Error, a.Refused}
	}
	return a, nil
}

// nextConductor is how long a call waits for a conductor, where there is none or the one that was asked has gone.
const nextConductor = time.Minute

// request makes a call, again where its conductor stops or is gone: who conducts next, after the time of a lease, does what is
// asked.
func (w *work) request(ctx context.Context, data []byte) (a answer, err error) {
	for until := now().Add(nextConductor); ; {
		got, err := w.bus.Request(ctx, bus.CallSubject(w.run, w.worker()), data)
		if a = (answer{}); err == nil {
			err = json.Unmarshal(got, &a)
		}
		switch {
		case errors.Is(err, bus.ErrNoAnswer) && ctx.Err() == nil:
			until = now().Add(nextConductor)
			continue
		case err == nil && a.Gone:
			until = now().Add(nextConductor)
		case !errors.Is(err, bus.ErrNoListener) || !now().Before(until):
			return a, err
		}
		select {
		case <-time.After(enlistRetry):
		case <-ctx.Done():
			return a, context.Cause(ctx)
		}
	}
}

// calledError is why the conducting half does not do what a call asks for: it refuses that, or could not.
type calledError struct {
	why     string
	refused bool
}

func (e *calledError) Error() string { return e.why }

// worker is the name of the worker in this process.
func (w *work) worker() string {
	if w.engaged != nil {
		return w.engaged.worker.o.Name
	}
	return worker.LocalName
}

// check has a plan of the master checked.
func (w *work) check(ctx context.Context, p spec.Plan) (plan.Checked, error) {
	a, err := w.ask(ctx, call{Plan: &p})
	return a.Checked, err
}

// remote is the memory of the repository, which the conducting half has.
type remote struct{ w *work }

// Search implements artifacts.Memory.
func (r remote) Search(ctx context.Context, query string, limit int) ([]memory.Hit, error) {
	if query == "" {
		return nil, nil
	}
	a, err := r.w.ask(ctx, call{Search: query, Most: limit})
	return a.Hits, err
}

// Propose implements artifacts.Memory.
func (r remote) Propose(ctx context.Context, n memory.Note) (string, error) {
	a, err := r.w.ask(ctx, call{Propose: &n})
	return a.ID, err
}

// Recall implements agent.Memory.
func (r remote) Recall(ctx context.Context, query string, maxTokens int) ([]contextscope.Recalled, []string) {
	if query == "" {
		return nil, nil
	}
	a, err := r.w.ask(ctx, call{Recall: query, Most: maxTokens})
	if err != nil {
		return nil, []string{"nothing was recalled: " + err.Error()}
	}
	return a.Recalled, a.Notes
}

// Refresh implements worker.Memory.
func (r remote) Refresh(ctx context.Context) (bool, error) {
	a, err := r.w.ask(ctx, call{Refresh: true})
	return a.Has, err
}
