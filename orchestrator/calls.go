package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/contextscope/memory"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/request"
	"divisi/subagents/wire"
	"divisi/subagents/worker"
)

// call is what the half that works asks of the half that conducts: a JSON object with the name of an entry of calls, what that
// takes, and the attempt that it concerns.
type call struct {
	name string
	at   *attemptRef
	body any

	from string          // the worker that calls, as the bus proves
	raw  json.RawMessage // the body, as it came
}

// attemptRef names an attempt of a task; 0 for the newest.
type attemptRef struct {
	Task    string `json:"task"`
	Attempt int    `json:"attempt"`
}

// MarshalJSON writes what parseCall reads.
func (c call) MarshalJSON() ([]byte, error) {
	fields := map[string]any{c.name: c.body}
	if c.at != nil {
		fields[atField] = c.at
	}
	return json.Marshal(fields)
}

const atField = "at"

// caller is who may make a call.
type caller int

const (
	anyWorker caller = iota + 1 // of the server, for itself
	ownHands                    // the half that works in this process
	counted                     // that the run counts on
	holder                      // that has the attempt, which is open, as the log says
	planner                     // likewise, of a role that may plan
)

// entry is one call: who may make it, how large it is at most, in bytes, and how often each worker makes it: so many at once,
// then one more after each time. Which numbers it takes the types of its body say: see spec.Bounds.
type entry struct {
	may   caller
	size  int
	burst int
	every time.Duration
	call  handler
}

// handler does a call, once its body has been read.
type handler func(ctx context.Context, h *conduct, c *call) (answer, error)

// takes makes a handler of a function, which gets a body of its type: sound JSON, each number in its range.
func takes[T any](do func(h *conduct, ctx context.Context, c *call, body *T) (answer, error)) handler {
	return func(ctx context.Context, h *conduct, c *call) (answer, error) {
		body := new(T)
		err := json.Unmarshal(c.raw, body)
		if err == nil {
			err = spec.Bounds(body)
		}
		if err != nil {
			return answer{}, request.Refusedf("the call %s of worker %s cannot be read: %v", c.name, c.from, err)
		}
		return do(h, ctx, c, body)
	}
}

const kib = 1 << 10

// callNames are those of calls. calls are all that a worker can ask of a conductor.
const (
	callPlan    = "plan"    // check a plan on the present run: Checked
	callForeign = "foreign" // what to do about an attempt without a baseline of the worker's environment: Placed
	callPropose = "propose" // keep a note for the memory: ID
	callSearch  = "search"  // find notes: Hits
	callRecall  = "recall"  // find notes for a request: Recalled and Notes
	callRefresh = "refresh" // read what was noted since: Has
	callGrant   = "grant"   // what the worker has of the budget, and needs: Grant
	callFull    = "full"    // look whether the store can take more
	callEnlist  = "enlist"  // count on the worker from now on: Grant and Limits
	callLeave   = "leave"   // count on it no more, because of what its machine lacks, or "" for another reason
	callPack    = "pack"    // lend what the worker's machine lacks: Object, of Size bytes
	callRead    = "read"    // show messages of the log: Page
	callGap     = "gap"     // note what a person should know of the recording by now
)

var calls = map[string]entry{
	callPlan:    {planner, bus.MaxData, 20, time.Second, takes((*conduct).checkPlan)},
	callForeign: {holder, 4 * kib, 200, 20 * time.Millisecond, takes((*conduct).placed)},
	callPropose: {holder, 256 * kib, 20, time.Second, takes((*conduct).keepNote)},
	callSearch:  {counted, 64 * kib, 200, 20 * time.Millisecond, takes((*conduct).search)},
	callRecall:  {counted, 256 * kib, 200, 20 * time.Millisecond, takes((*conduct).recall)},
	callRefresh: {counted, kib, 200, 50 * time.Millisecond, takes((*conduct).refresh)},
	callGrant:   {counted, 4 * kib, 200, 20 * time.Millisecond, takes((*conduct).granted)},
	callFull:    {counted, 4 * kib, 1, time.Minute, takes((*conduct).measure)},
	callEnlist:  {anyWorker, 512 * kib, 30, time.Second, takes((*conduct).enlist)},
	callLeave:   {anyWorker, 4 * kib, 10, time.Second, takes((*conduct).leave)},
	callPack:    {anyWorker, 512 * kib, 200, 100 * time.Millisecond, takes((*conduct).lendPack)},
	callRead:    {anyWorker, 4 * kib, 2000, 5 * time.Millisecond, takes((*conduct).show)},
	callGap:     {ownHands, 4 * kib, 20, time.Second, takes((*conduct).noteGap)},
}

// asking is a query of the memory, for at most so many notes or tokens.
type asking struct {
	Text string `json:"text"`
	Most int    `json:"most" maximum:"1000000"`
}

// lacking is what the caller's machine lacks: a commit, of a repository that has some; with Module one of that submodule, without
// what leads to it; with Past the history of the base but for that of some tips; a content of Git LFS; or an environment. No
// object is none that is lent.
type lacking struct {
	Commit      string        `json:"commit,omitempty"`
	Have        []string      `json:"have,omitempty"`
	Module      string        `json:"module,omitempty"`
	Past        bool          `json:"past,omitempty"`
	Content     *spec.Pointer `json:"content,omitempty"`
	Environment string        `json:"environment,omitempty"`
}

// answer is what becomes of a call.
type answer struct {
	// Error is why nothing does; Refused reports that what was asked for is at fault, Again that it is to be asked again.
	Error   string `json:"error,omitempty"`
	Refused bool   `json:"refused,omitempty"`
	Again   bool   `json:"again,omitempty"`
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
	}, func(why error) ([]byte, error) { return json.Marshal(failed(why)) })
}

func (h *conduct) answer(ctx context.Context, m bus.Message) answer {
	a, err := h.do(ctx, bus.Caller(m.Subject), m.Data)
	if err != nil {
		return failed(err)
	}
	return a
}

// failed is the answer to a call that nothing becomes of.
func failed(err error) answer {
	refused := errors.Is(err, memory.ErrRefused) || errors.As(err, new(*request.RefusedError))
	return answer{Error: err.Error(), Refused: refused, Again: errors.As(err, new(*conductor.AgainError))}
}

// do does what a worker asks, once all of the call has been checked.
func (h *conduct) do(ctx context.Context, from string, data []byte) (a answer, err error) {
	c, err := parseCall(data)
	if err != nil {
		return a, request.Refusedf("%v", err)
	}
	e := calls[c.name]
	c.from = from
	switch {
	case len(data) > e.size:
		return a, request.Refusedf("the call %s has %d bytes, and may have %d", c.name, len(data), e.size)
	case !h.pace.take(from+" "+c.name, e.burst, e.every):
		why := fmt.Sprintf("worker %s asks too often: %s is answered every %s", from, c.name, e.every)
		return a, &conductor.AgainError{Why: why}
	}
	if err := h.may(ctx, e.may, c); err != nil {
		return a, err
	}
	return e.call(ctx, h, c)
}

// parseCall finds the name, the attempt and the body of a call.
func parseCall(data []byte) (*call, error) {
	fields, err := spec.Object(data, slices.Concat(slices.Sorted(maps.Keys(calls)), []string{atField})...)
	if err != nil {
		return nil, err
	}
	c := &call{at: &attemptRef{}}
	if at, there := fields[atField]; there {
		err = json.Unmarshal(at, c.at)
		delete(fields, atField)
	}
	if err = errors.Join(err, spec.Bounds(c.at)); err != nil {
		return nil, fmt.Errorf("the attempt of the call cannot be read: %w", err)
	}
	if len(fields) != 1 {
		return nil, fmt.Errorf("a call has one name, and not %d", len(fields))
	}
	for c.name, c.raw = range fields {
	}
	return c, nil
}

// may refuses a call of a worker that may not make it.
func (h *conduct) may(ctx context.Context, may caller, c *call) error {
	switch {
	case may == ownHands && (h.Elsewhere || c.from != worker.LocalName):
		return request.Refusedf("%s is no call of worker %s", c.name, c.from)
	case !h.Elsewhere && c.from != worker.LocalName:
		return request.Refusedf("run %s has no other worker than this process, and %s calls", h.spec.Run, c.from)
	case may == counted && h.Elsewhere:
		return h.cond.Counts(ctx, c.from)
	case may == holder || may == planner:
		return h.cond.Holds(ctx, c.from, c.at.Task, c.at.Attempt, may == planner)
	}
	return nil
}

func (h *conduct) checkPlan(ctx context.Context, _ *call, p *spec.Plan) (a answer, err error) {
	h.planning.Lock()
	defer h.planning.Unlock()
	st, err := eventlog.Fold(ctx, h.bus, h.spec.Run)
	if err == nil {
		a.Checked, err = plan.Check(ctx, *p, st, h.tree(st.Head, st.Environment()))
	}
	return a, err
}

func (h *conduct) placed(ctx context.Context, c *call, f *wire.Foreign) (a answer, err error) {
	f.Worker, f.Task, f.Attempt = c.from, c.at.Task, c.at.Attempt
	if err = f.Check(); err == nil {
		a.Placed, err = h.cond.Place(ctx, *f)
	}
	return a, err
}

func (h *conduct) show(ctx context.Context, c *call, q *wire.Reading) (a answer, err error) {
	q.Task, q.Attempt = c.at.Task, c.at.Attempt
	a.Page, err = h.cond.Read(ctx, c.from, *q)
	return a, err
}

func (h *conduct) leave(ctx context.Context, c *call, lacks *string) (answer, error) {
	return answer{}, h.cond.Discharge(ctx, c.from, *lacks)
}

func (h *conduct) lendPack(ctx context.Context, _ *call, l *lacking) (a answer, err error) {
	p, err := h.packed(ctx, l)
	a.Object, a.Size = p.name, p.size
	return a, err
}

// maxGap bounds what is noted of the recording, in characters.
const maxGap = 1000

func (h *conduct) noteGap(_ context.Context, _ *call, gap *string) (answer, error) {
	h.gaps.Store(new(text.Short(text.OneLine(*gap), maxGap)))
	return answer{}, nil
}

// measure ends the run where its store takes nothing more. That a worker met it so is no reason: the store is tried here.
func (h *conduct) measure(ctx context.Context, _ *call, _ *string) (answer, error) {
	err := h.bus.Cache().Put(ctx, "room-"+now().Format("20060102T1504"), []byte{0})
	if errors.Is(err, bus.ErrFull) {
		h.full(err)
	}
	return answer{}, err
}

// noted has the memory, where the run has one.
func (h *conduct) noted() (*memory.Memory, error) {
	if h.notes == nil {
		return nil, errors.New("the run has no memory")
	}
	return h.notes, nil
}

func (h *conduct) search(ctx context.Context, _ *call, q *asking) (a answer, err error) {
	m, err := h.noted()
	if err == nil {
		a.Hits, err = m.Search(ctx, q.Text, q.Most)
	}
	return a, err
}

func (h *conduct) recall(ctx context.Context, _ *call, q *asking) (a answer, err error) {
	m, err := h.noted()
	if err == nil {
		a.Recalled, a.Notes = m.Recall(ctx, q.Text, q.Most)
	}
	return a, err
}

func (h *conduct) keepNote(ctx context.Context, c *call, n *memory.Note) (a answer, err error) {
	m, err := h.noted()
	if err == nil {
		n.Source = h.spec.Run + "/" + c.at.Task
		a.ID, err = m.Propose(ctx, *n)
	}
	return a, err
}

func (h *conduct) refresh(ctx context.Context, _ *call, _ *bool) (a answer, err error) {
	m, err := h.noted()
	if err != nil {
		return a, err
	}
	var notes []memory.Note
	if _, err = m.Refresh(ctx); err == nil {
		notes, err = m.List(ctx)
	}
	a.Has = len(notes) > 0
	return a, err
}

// packed puts what a worker lacks into the cache of the bus.
func (h *conduct) packed(ctx context.Context, l *lacking) (sealedPack, error) {
	none := func(c string) bool { return !wire.IsCommit(c) }
	switch {
	case l.Commit != "" && none(l.Commit) || slices.ContainsFunc(l.Have, none):
		return sealedPack{}, request.Refusedf("%.80q, or one of what the worker has, is no commit", l.Commit)
	case l.Past:
		return h.packPast(ctx, l.Have)
	case l.Module != "":
		return h.packModule(ctx, l.Module, l.Commit, l.Have)
	case l.Commit != "":
		return h.pack(ctx, l.Commit, l.Have)
	case l.Environment != "":
		return h.packEnvironment(ctx, l.Environment)
	case l.Content == nil:
		return sealedPack{}, request.Refusedf("the call names nothing that the worker lacks")
	case !slices.Contains(h.beside.Pointers(), *l.Content):
		return sealedPack{}, nil
	}
	return putContent(ctx, h.bus.Cache(), h.besides(h.git), *l.Content)
}
