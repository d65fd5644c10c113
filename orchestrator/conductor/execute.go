package conductor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/genai"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/assign"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/landing/rank"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// record is what an executor has of the run: its state, and the one way to write events of the conductor.
type record struct {
	cfg Config
	st  *run.State
	// last is the newest position on the conductor's own subjects.
	last    uint64
	workers workers
	// own sums the conductor's own work since the event that told it last.
	own run.Own
	// pausing is set when the run stops as soon as no attempt runs.
	pausing bool
}

// queue hands attempts out.
type queue struct {
	*record

	sealer *assign.Sealer
	// heard has signs of life by subject of the queue.
	heard sync.Map
	// restored is where the log continues from a copy that has the run; 0 where it is no copy.
	restored uint64
}

// execute executes actions in their order, up to the first that fails.
func (c *Conductor) execute(ctx context.Context, actions []run.Action) error {
	for _, a := range actions {
		if err := c.executeOne(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

func (c *Conductor) executeOne(ctx context.Context, action run.Action) error {
	switch a := action.(type) {
	case run.Append:
		return c.append(ctx, a)
	case run.Assign:
		return c.assign(ctx, a)
	case run.Write:
		return c.write(ctx, a)
	case run.Tell:
		c.tell(ctx, a.Work)
	case run.TakeBack:
		return c.takeBack(ctx, a.Work)
	case run.SyncHead:
		defer timeSpent(&c.own.Landing)()
		c.pack(ctx)
		return c.syncHead(ctx)
	case run.Isolate:
		_, err := c.isolate(ctx, a.Quarantine)
		return err
	case run.Together:
		return c.together(ctx, a.Actions)
	case run.Pause:
		return c.pause(ctx, a.By)
	case run.Purge:
		return c.cfg.Bus.Purge(ctx, bus.TaskFilter(c.cfg.Run))
	case run.End:
		return c.end(ctx, a.Data)
	case run.Approve:
		c.approve(ctx, a.Plan)
	case askDecision:
		c.ask(ctx, a.Decision)
	case compare:
		return c.shape(ctx, &a.Decision)
	case readEdits:
		return c.readEdits(ctx, a.tasks)
	case run.ProveTwin:
		return c.proveTwin(ctx)
	case run.Fail:
		return a.Err
	case phase.Recall:
		return c.execute(ctx, a.Then(c.keptBaseline(ctx)))
	case phase.Keep:
		c.keepBaseline(ctx)
	case run.Expand:
		return c.expand(ctx, a)
	case acceptance.Import:
		return c.receive(ctx, a)
	case proof.Inspect:
		return c.inspect(ctx, a)
	case proof.Compare:
		return c.compare(ctx, a)
	case rank.Weigh:
		return c.weigh(ctx, a)
	case landing.Later:
		return c.execute(ctx, a.Then)
	case landing.Merge:
		return c.merge(ctx, a)
	default:
		return fmt.Errorf("no way to execute a %T", a)
	}
	return nil
}

// together appends what actions append as one message, behind those that stand before the first of them, and before the others.
func (c *Conductor) together(ctx context.Context, actions []run.Action) error {
	var events []contextscope.Event
	var before, behind []run.Action
	var data []any
	size := 0
	for _, action := range actions {
		var e contextscope.Event
		var err error
		switch a := action.(type) {
		case run.Append:
			e, err = eventOf(a)
			data = append(data, a.Data)
		case run.Write:
			e = written(a)
		default:
			if len(events) == 0 {
				before = append(before, a)
			} else {
				behind = append(behind, a)
			}
			continue
		}
		if size += len(e.Data); err == nil && size > wire.MaxLoose {
			err = fmt.Errorf("%w: %d events have more than %d bytes", bus.ErrTooLarge, len(actions), wire.MaxLoose)
		}
		if err != nil {
			return err
		}
		events = append(events, e)
	}
	err := c.execute(ctx, before)
	if err == nil && len(events) > 0 {
		err = c.commit(ctx, events...)
	}
	if err != nil {
		return err
	}
	for _, d := range data {
		c.workers.wake(ctx, d)
	}
	return c.execute(ctx, behind)
}

// append writes one event of the conductor and folds it in. It is refused when another conductor has written.
func (c *record) append(ctx context.Context, a run.Append) error {
	a.Data = c.tellOwn(a.Data)
	e, err := eventOf(a)
	if err != nil {
		return err
	}
	if err = c.commit(ctx, e); err == nil {
		c.workers.wake(ctx, a.Data)
	}
	return err
}

func eventOf(a run.Append) (contextscope.Event, error) {
	raw, err := json.Marshal(a.Data)
	if err != nil {
		return contextscope.Event{}, fmt.Errorf("encode a %s event: %w", a.Kind(), err)
	}
	return contextscope.Event{Kind: a.Kind(), Task: a.Task, Author: authorConductor, Data: raw}, nil
}

// authorConductor is the author of the conductor's events.
const authorConductor = "conductor"

// write appends a message.
func (c *record) write(ctx context.Context, w run.Write) error {
	return c.commit(ctx, written(w))
}

func written(w run.Write) contextscope.Event {
	return contextscope.Event{
		Kind: contextscope.KindUser, Task: w.Task, Author: w.From, Content: genai.NewContentFromText(w.Text, genai.RoleUser),
	}
}

// commit completes events, appends them as one message, and folds them in.
func (c *record) commit(ctx context.Context, events ...contextscope.Event) error {
	for i := range events {
		e := &events[i]
		e.V, e.ID, e.Run, e.Time = contextscope.EventVersion, c.cfg.NewID(), c.cfg.Run, c.cfg.Clock()
		if t := c.st.Tasks.ByID[e.Task]; t != nil {
			e.Attempt, e.Role = t.Attempt, t.Task.Role
		}
	}
	kind := events[0].Kind
	fail := func(err error) error { return fmt.Errorf("append a %s event to run %s: %w", kind, c.cfg.Run, err) }
	if err := c.held(); err != nil {
		return fail(err)
	}
	subject, filter := bus.ConductorSubject(c.cfg.Run, string(kind)), bus.ConductorFilter(c.cfg.Run)
	encoded, err := wire.EncodeEvents(events)
	if err == nil {
		encoded, err = wire.Press(subject, encoded)
	}
	if err != nil {
		return fail(err)
	}
	// An append that a signal interrupts would leave open whether it was stored, and its own event would fence this conductor.
	ctx, cancel := withoutCancel(ctx)
	defer cancel()
	defer timeSpent(&c.own.Log)()
	pos, err := c.cfg.Bus.AppendFiltered(ctx, subject, filter, encoded, c.last)
	if errors.Is(err, bus.ErrFenced) {
		err = ErrDeposed
	}
	if err != nil {
		return fail(err)
	}
	c.last = pos
	for i := range events {
		events[i].Pos = pos
		if err := c.st.Apply(&events[i]); err != nil {
			return err
		}
	}
	return nil
}

// assign seals an attempt's assignment, appends the event that holds the dispatch, and puts the attempt on the queue. Every
// delivery, every resume and the context command read what was sealed here. A task whose input does not exist is parked.
func (c *Conductor) assign(ctx context.Context, a run.Assign) error {
	err := c.seal(ctx, a.Dispatch)
	var missing *assign.InputError
	if t := c.st.Tasks.ByID[a.Dispatch.Task]; t != nil && errors.As(err, &missing) {
		return c.execute(ctx, recovery.Park(&c.st.Spec, t, missing.Error(), nil))
	}
	if err == nil {
		err = c.append(ctx, a.Append)
	}
	if err != nil {
		return err
	}
	return c.enqueue(ctx, *a.Dispatch)
}

func (c *queue) seal(ctx context.Context, d *run.Dispatch) (err error) {
	defer timeSpent(&c.own.Seal)()
	d.Assignment, err = c.sealer.Seal(ctx, c.st, d)
	return err
}

// enqueue puts an attempt that the log says was dispatched on the queue. Doing it twice is harmless.
func (c *queue) enqueue(ctx context.Context, d run.Dispatch) error {
	a := wire.Assignment{
		Run: c.cfg.Run, Task: spec.Task{ID: d.Task}, Attempt: d.Attempt, Object: d.Assignment, Group: d.Group,
	}
	var data []byte
	err := a.Sign(c.cfg.Signs)
	if err == nil {
		data, err = json.Marshal(a)
	}
	if err != nil {
		return fmt.Errorf("encode %s/%d: %w", d.Task, d.Attempt, err)
	}
	msg, subject := fmt.Sprintf("%s.%s.%d.%d", c.cfg.Run, d.Task, d.Attempt, c.st.Epoch),
		bus.TaskSubject(d.Role, c.cfg.Run, queueToken(d.Task, d.Attempt))
	if err := c.claim(ctx, d); err != nil {
		return err
	}
	c.heard.Store(subject, c.cfg.Clock())
	defer timeSpent(&c.own.Log)()
	err = c.cfg.Bus.Enqueue(ctx, subject, msg, data)
	if err != nil && !errors.Is(err, bus.ErrQueued) {
		return fmt.Errorf("put %s/%d on the queue: %w", d.Task, d.Attempt, err)
	}
	return nil
}

// queueToken is an attempt's place on the queue. Each attempt has its own, so that the next one need not wait until the
// worker has acknowledged the one before.
func queueToken(id string, attempt int) string { return fmt.Sprintf("%s--%d", id, attempt) }

// subjectOf is the place on the queue of the newest attempt of a work.
func (c *queue) subjectOf(w *run.Work) string {
	return bus.TaskSubject(w.RoleAt(w.Last), c.cfg.Run, queueToken(w.ID, w.Last))
}

// takeBack removes the newest attempt of a work from the queue.
func (c *queue) takeBack(ctx context.Context, w *run.Work) error {
	if err := c.cfg.Bus.Purge(ctx, c.subjectOf(w)); err != nil {
		return fmt.Errorf("take %s off the queue: %w", w.ID, err)
	}
	return nil
}

// expand prepares a plan, and executes what follows.
func (c *Conductor) expand(ctx context.Context, a run.Expand) error {
	tree := c.cfg.Tree(a.Commit, c.st.Environment())
	prepare := func() (run.PlanData, []spec.Problem, error) {
		return plan.Prepare(ctx, a.Plan, &c.st.Agenda, c.st.Works, tree)
	}
	if a.Template != nil {
		prepare = func() (run.PlanData, []spec.Problem, error) {
			return plan.Expand(ctx, a, &c.st.Agenda, c.st.Works, tree, c.cfg.Bus.Get)
		}
	}
	data, problems, err := prepare()
	if err != nil {
		return fmt.Errorf("prepare a plan: %w", err)
	}
	return c.execute(ctx, a.Then(data, problems))
}

// merge merges patches as one chain, and executes what follows.
func (c *Conductor) merge(ctx context.Context, a landing.Merge) error {
	merged, draft := timeSpent(&c.own.Landing), c.cfg.Mirror.Draft()
	chain, err := landing.Build(ctx, merger{draft, cmp.Or(git.Ident(c.st.Spec.Author), nameless)}, a, c.cfg.Clock())
	if err == nil {
		err = draft.Flush(ctx)
	}
	if err == nil && len(chain.Merged) > 0 {
		chain.Changed, err = c.changedBy(ctx, a.Onto, chain.Head)
	}
	merged()
	if err != nil {
		return err
	}
	actions := a.Then(chain)
	if len(actions) > 0 { // else no event refers to it, and it would be merged again for the event that reports it
		patches := make([]string, len(chain.Merged))
		for i, m := range chain.Merged {
			patches[i] = m.Commit
		}
		if err := c.share(ctx, chain.Head, a.Onto, patches...); err != nil {
			return err
		}
	}
	return c.execute(ctx, actions)
}

// end publishes the branch, if a patch landed, and appends the last event.
func (c *Conductor) end(ctx context.Context, d run.Data) (err error) {
	if c.cfg.Closing != nil {
		d.Notices = c.cfg.Closing()
	}
	if c.st.Head != c.st.Spec.Base {
		if d.Ref, err = c.publishHead(ctx); err != nil {
			return err
		}
	}
	return c.append(ctx, run.Append{Data: d})
}

// held returns ErrDeposed where another machine may have taken the run over. The log refuses what is written then all the same.
func (c *record) held() error {
	if c.cfg.Held == nil {
		return nil
	}
	if err := c.cfg.Held(); err != nil {
		return fmt.Errorf("%w: %w", ErrDeposed, err)
	}
	return nil
}

func (c *patches) publishHead(ctx context.Context) (string, error) {
	if err := c.held(); err != nil {
		return "", err
	}
	defer timeSpent(&c.own.Landing)()
	ref, err := c.cfg.Publish(ctx, c.st.Head, c.st.Spec.Base, c.st.Published)
	if err != nil {
		return "", fmt.Errorf("put the branch into the repository: %w", err)
	}
	return ref, nil
}
