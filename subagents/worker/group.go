package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"divisi/internal/machine"
	"divisi/internal/spec"
	"divisi/subagents/limit"
	"divisi/subagents/wire"
	"divisi/subagents/workspace"

	"golang.org/x/sync/errgroup"
)

const (
	// groupTime is the least time of a group, groupTimes how many times what its rate predicts it may take.
	groupTime, groupTimes = 10 * time.Second, 10
	// groupAppends is how many attempts of a group write their events at once.
	groupAppends = 16
)

// errApart reports that the attempts of a group have to be tried in smaller ones.
var errApart = errors.New("the group failed")

// work runs one group when there is room for it: the attempts, or those that wait then. A group that failed is run again in
// halves, down to single attempts: which of its tasks is at fault is not known. Attempts that wait for long begin before there
// is room: a server takes tasks from a worker that holds them and begins none.
func (g *gathering) work(ctx context.Context, ms []*member) {
	soon, cancel := context.WithCancel(ctx)
	if ms == nil {
		soon, cancel = context.WithTimeout(ctx, g.patience)
	}
	core, leave, err := g.room(soon, ms)
	cancel()
	if err != nil && ctx.Err() == nil {
		if ms = g.begin(ctx, g.take()); len(ms) == 0 {
			return
		}
		stop := g.waits(ms)
		core, leave, err = g.room(ctx, ms)
		stop()
	}
	if err != nil {
		g.each(append(ms, g.all()...), func(m *member) bool { m.end(ctx, spec.Result{}, context.Cause(ctx)); return false })
		return
	}
	defer leave()
	if ms == nil {
		ms = g.begin(ctx, g.take())
	}
	ms = g.apart(ctx, ms)
	switch len(ms) {
	case 0:
	case 1:
		core() // it waits for one like any other attempt
		g.alone(ctx, ms[0])
	default:
		for _, part := range g.together(ctx, ms, core) {
			g.worker.done.Go(func() { g.work(ctx, part) })
		}
	}
}

// errNothing reports that other groups took all attempts that waited.
var errNothing = errors.New("no attempt waits")

// room waits until a group can run, which counts as one agent. Without attempts it is for those that wait then.
func (g *gathering) room(ctx context.Context, ms []*member) (core, leave func(), err error) {
	select {
	case g.places <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	agent := &permit{room: g.worker.agents}
	undo := func() { agent.leave(); <-g.places }
	switch {
	case ms == nil && !g.any():
		err = errNothing
	case !agent.take(ctx):
		err = context.Cause(ctx)
	default:
		core, err = g.worker.commands.Acquire(ctx)
	}
	if err != nil {
		undo()
		return nil, nil, err
	}
	return core, func() { core(); undo() }, nil
}

// begin opens the journals of attempts, and returns those that have no result yet.
func (g *gathering) begin(ctx context.Context, ms []*member) []*member {
	w := g.worker
	return g.each(ms, func(m *member) bool {
		at, err := w.begin(ctx, m.delivery, m.assignment, m.log)
		if at == nil {
			m.settle(ctx, err)
			return false
		}
		m.attempt = at
		w.mark(m.delivery, true)
		n, r := w.deliveries(m.delivery, at), spec.Result{}
		if m.ctx, m.leave, err = w.attend(ctx, at); err == nil && n <= maxDeliveries {
			return true
		} else if err == nil {
			r = poison(n)
		}
		m.end(ctx, r, err)
		return false
	})
}

// apart returns the attempts that may share a process, or one; it runs the others alone. What tells is the log: the deliveries of
// a resumed run are counted from one again.
func (g *gathering) apart(ctx context.Context, ms []*member) []*member {
	if len(ms) < 2 {
		return ms
	}
	return slices.DeleteFunc(ms, func(m *member) bool {
		alone := m.assignment.Delivery > maxShared
		if alone {
			g.worker.done.Go(func() { g.work(ctx, []*member{m}) })
		}
		return alone
	})
}

// each calls do for several attempts at once, and returns those for which it is true.
func (g *gathering) each(ms []*member, do func(*member) bool) []*member {
	kept := make([]*member, len(ms))
	var all errgroup.Group
	all.SetLimit(groupAppends)
	for i, m := range ms {
		all.Go(func() error {
			if do(m) {
				kept[i] = m
			}
			return nil
		})
	}
	_ = all.Wait() // none of them returns an error
	return slices.DeleteFunc(kept, func(m *member) bool { return m == nil })
}

// alone carries one attempt out as any other one.
func (g *gathering) alone(ctx context.Context, m *member) {
	r, err := m.guarded(m.ctx)
	if err == nil && r.Status == spec.StatusDone && g.rate(m.assignment.Group).first == 0 {
		g.learn([]*member{m}, m.worker.cfg.Clock().Sub(m.began)-m.queued-m.slotted)
	}
	m.end(ctx, r, err)
}

// together runs one process for several attempts, and ends those that it was good for. It returns the others, in groups.
func (g *gathering) together(ctx context.Context, ms []*member, core func()) (others [][]*member) {
	joint, stop := whileAny(ctx, ms)
	results, err := g.share(joint, ms)
	stop()
	core()
	broken := ctx.Err() != nil || leftToNext(err)
	rest := g.each(ms, func(m *member) bool {
		switch cause := context.Cause(m.ctx); {
		case cause != nil:
			m.interrupted(ctx, cause)
		case broken:
			m.end(ctx, spec.Result{}, cmp.Or(err, context.Cause(ctx)))
		case results[m].Status == spec.StatusDone:
			m.end(ctx, results[m], nil)
		default:
			return true
		}
		return false
	})
	size := 1
	if err != nil {
		g.worker.cfg.Log.Info().Err(err).Int("tasks", len(rest)).Msg("the group failed; running it again in halves")
		size = max(1, (len(rest)+1)/2)
	}
	return slices.Collect(slices.Chunk(rest, size))
}

// whileAny is a context that ends when all of the attempts have.
func whileAny(ctx context.Context, ms []*member) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var left atomic.Int64
	left.Store(int64(len(ms)))
	stops := make([]func() bool, 0, len(ms))
	for _, m := range ms {
		stops = append(stops, context.AfterFunc(m.ctx, func() {
			if left.Add(-1) == 0 {
				cancel(context.Cause(m.ctx))
			}
		}))
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel(nil)
	}
}

// share prepares a place for some attempts, runs their command there once, and returns what each of them has made.
func (g *gathering) share(ctx context.Context, ms []*member) (results map[*member]spec.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			g.worker.cfg.Log.Error().Bytes("stack", debug.Stack()).Msgf("a group panicked: %v", p)
			err = errApart
		}
	}()
	at := g.host(ms)
	release, err := at.prepare(ctx)
	defer release()
	if err != nil {
		return nil, err
	}
	defer func() {
		if machine.Of(err, "") != nil {
			err = errors.Join(err, at.slot.Drop()) // what fills the disk may be in the tree
		}
	}()
	tasks := make([]spec.Task, len(ms))
	for i, m := range ms {
		tasks[i] = m.assignment.Task
	}
	took, good, err := at.command().Together(ctx, tasks)
	switch {
	case err != nil:
		return nil, err
	case !good:
		return nil, errApart
	}
	g.learn(ms, took)
	if held, err := at.held(ctx); err != nil || held != "" {
		return nil, cmp.Or(err, errApart)
	}
	return at.cut(ctx, ms)
}

// host is an attempt that has the place of a group, and the files of all of its tasks.
func (g *gathering) host(ms []*member) *attempt {
	first := ms[0].attempt
	a := *first.assignment
	a.Task.ID, a.Task.Rule, a.Task.Files = "", nil, nil
	var most time.Duration
	for _, m := range ms {
		a.Task.Files = append(a.Task.Files, m.assignment.Task.Files...)
		most += m.bounds().Left()
	}
	predicted := g.rate(a.Group).predicts(len(a.Task.Files))
	a.Task.Limits.Time = spec.Duration(min(most, max(groupTime, groupTimes*predicted)))
	return &attempt{
		worker: g.worker, assignment: &a, journal: first.journal, log: g.worker.cfg.Log,
		progress: first.progress, // which stands for them all
	}
}

// cut gives what differs in the tree to the attempts whose files it is. One that has ended meanwhile is left out.
func (at *attempt) cut(ctx context.Context, ms []*member) (map[*member]spec.Result, error) {
	parts := make([]workspace.Part, len(ms))
	for i, m := range ms {
		set, tree := m.writeSet(), newSlotTree(at.slot, nil, m.assignment, m.journal.Events()[0].Time)
		parts[i] = workspace.Part{
			Files: set.Files, Owns: func(path string) bool { return set.Refuse(path) == "" }, Message: tree.message, At: tree.at,
		}
	}
	patches, pack, err := at.slot.CollectParts(ctx, at.assignment.Head, author, parts)
	if err != nil {
		return nil, err
	}
	name := wire.Name("packs", pack)
	if pack != nil {
		if err := at.worker.cfg.Bus.Put(ctx, name, pack); err != nil {
			return nil, fmt.Errorf("store the patches of %d tasks: %w", len(ms), err)
		}
	}
	results := map[*member]spec.Result{}
	for i, m := range ms {
		if patches[i] != nil {
			patches[i].Pack = name
		}
		own := *at
		own.assignment, own.journal = m.assignment, m.journal
		r, err := own.command().Made(ctx, patches[i])
		if err != nil {
			return nil, err
		}
		r.Shared = &spec.Shared{First: ms[0].assignment.Agent(), Tasks: len(ms)}
		r.Handoff.Summary += fmt.Sprintf("\nOne process did it for %d tasks, %s the first of them.", len(ms), r.Shared.First)
		results[m], m.slotted = r, at.slotted
	}
	return results, nil
}

// interrupted ends an attempt that was cancelled, or taken over by another worker.
func (m *member) interrupted(ctx context.Context, cause error) {
	if end := limit.EndingOf(cause, m.bounds()); end != nil {
		m.end(ctx, spec.Result{Status: end.Status, Error: &end.Fault}, nil)
		return
	}
	m.end(ctx, spec.Result{}, cause)
}

// end appends the result of an attempt, and tells the bus.
func (m *member) end(ctx context.Context, r spec.Result, err error) {
	if m.leave != nil {
		m.leave()
	}
	m.settle(ctx, m.worker.end(ctx, m.attempt, r, err))
}

// settle tells the bus what became of an attempt.
func (m *member) settle(ctx context.Context, err error) {
	m.quiet()
	m.worker.mark(m.delivery, false)
	if err := m.worker.settle(ctx, m.delivery, err, m.log); err != nil {
		m.log.Warn().Err(err).Msg("could not acknowledge the delivery; it will be redelivered")
	}
}
