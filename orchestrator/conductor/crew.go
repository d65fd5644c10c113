package conductor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"divisi/internal/spec"
	"divisi/orchestrator/call"
	"divisi/orchestrator/ledger"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// muster has what the workers elsewhere say of themselves. It may be used from any goroutine.
type muster struct {
	clock func() time.Time
	// since is when it began: workers may need a moment to join. stay is for how long one that said so is there.
	since time.Time
	stay  time.Duration

	mu      sync.Mutex
	workers map[string]*wire.Presence
	at      map[string]time.Time
	began   map[string]time.Time // the process of a worker that enlisted last
}

func newMuster(clock func() time.Time, stay time.Duration) *muster {
	return &muster{
		clock: clock, stay: stay,
		workers: map[string]*wire.Presence{}, at: map[string]time.Time{}, began: map[string]time.Time{},
	}
}

func (m *muster) take(p *wire.Presence) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.workers[p.Worker], m.at[p.Worker] = p, m.clock()
}

// other reports whether the process of a worker that enlisted before was another one.
func (m *muster) other(worker string, since time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, known := m.began[worker]
	return known && !before.Equal(since)
}

// begins notes that a worker is there, and its process.
func (m *muster) begins(worker string, since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at[worker], m.began[worker] = m.clock(), since
}

// present returns the workers that were there a moment ago, and forgets the others.
func (m *muster) present() map[string]*wire.Presence {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, at := range m.at {
		if m.clock().Sub(at) > m.stay {
			delete(m.at, name)
			delete(m.workers, name)
		}
	}
	return maps.Clone(m.workers)
}

// there reports whether a worker was there a moment ago.
func (m *muster) there(worker string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, known := m.at[worker]
	return known && m.clock().Sub(at) <= m.stay
}

// roster counts on workers elsewhere, or no more.
type roster struct {
	*record
	*queue

	// muster has what they say of themselves; ledger divides the budget among them.
	muster *muster
	ledger *ledger.Ledger
	caused caused
	away   away
}

// conducting holds the requirements for workers.
func (c *roster) conducting() wire.Conducting {
	return wire.NewConducting(c.cfg.Run, c.cfg.Version).Under(c.st.Budget, c.st.Spec.Project.BudgetDay)
}

// Enlist counts on a worker from now on, or on other places of it. It returns when the log says so: what the worker signs counts
// then. It may be called from any goroutine while Run is under way, and fails when the run ends.
func (c *Conductor) Enlist(ctx context.Context, e wire.Enlistment) error {
	return c.within(ctx, func(ctx context.Context) error { return c.enlist(ctx, e) })
}

// Discharge counts on a worker no more: its attempts are given to others. lacks is what its machine lacks; "" for nothing.
func (c *Conductor) Discharge(ctx context.Context, worker, lacks string) error {
	return c.within(ctx, func(ctx context.Context) error {
		if _, had := c.st.Crew[worker]; !had {
			return nil
		}
		if err := c.caused.one(worker, c.cfg.Clock()); err != nil {
			return err // it is lost soon
		}
		if lacks != "" {
			return c.sendAway(ctx, worker, lacks)
		}
		return c.discharge(ctx, worker, "left", "")
	})
}

// within has the conductor's goroutine do something, and returns what comes of it. A refusal is no failure of the run.
func (c *Conductor) within(ctx context.Context, do func(context.Context) error) error {
	done := make(chan error, 1)
	act := func(ctx context.Context) (err error) {
		defer func() { // what one worker asks for ends no run
			if p := recover(); p != nil {
				c.cfg.Log.Error().Bytes("stack", debug.Stack()).Msg("a call panicked")
				done <- fmt.Errorf("panic: %.500v", p)
			}
		}()
		err = do(ctx)
		done <- err
		if errors.As(err, new(*request.RefusedError)) || call.ClassOf(err) == call.Again {
			return nil
		}
		return err
	}
	select {
	case c.enlists <- act:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *roster) enlist(ctx context.Context, e wire.Enlistment) error {
	if err := e.Check(c.conducting()); err != nil {
		return request.Refusedf("%s", err.Error())
	}
	if c.st.Quarantines[e.Worker] != nil {
		return request.Refusedf("worker %s is in quarantine in this run", e.Worker)
	}
	key, known := c.st.Spec.Keys[e.Worker]
	if known && !bytes.Equal(key, e.Key) {
		return request.Refusedf("the run knows a worker %s with another key: give one of them another name", e.Worker)
	}
	for other, key := range c.st.Spec.Keys { // one of them could prove again what it has proven as the other one
		if other != e.Worker && bytes.Equal(key, e.Key) {
			return request.Refusedf("the run knows the key of worker %s as that of worker %s: "+
				"give one of them another state directory", e.Worker, other)
		}
	}
	places, had := c.st.Crew[e.Worker]
	again := c.muster.other(e.Worker, e.Since) && had // it was gone for less time than counts as lost
	if !again && known && had && places == e.Places {
		c.muster.begins(e.Worker, e.Since)
		return nil
	}
	if err := c.caused.one(e.Worker, c.cfg.Clock()); err != nil {
		return err
	}
	c.muster.begins(e.Worker, e.Since)
	if again {
		if err := c.discharge(ctx, e.Worker, "began again", ""); err != nil {
			return err
		}
	}
	d := run.Data{Crew: run.Crew{}, Away: maps.Clone(c.st.Away)}
	maps.Copy(d.Crew, c.st.Crew)
	if _, away := d.Away[e.Worker]; away {
		delete(d.Away, e.Worker)
		d.Notices = []string{fmt.Sprintf("worker %s is back, and takes tasks again", e.Worker)}
	}
	d.Crew[e.Worker] = e.Places
	if !known {
		d.Keys = maps.Clone(c.st.Spec.Keys)
		if d.Keys == nil {
			d.Keys = map[string][]byte{}
		}
		d.Keys[e.Worker] = e.Key
	}
	return c.append(ctx, run.Append{Data: d})
}

// discharge is Discharge on the conductor's goroutine, in words for the log.
func (c *roster) discharge(ctx context.Context, worker, how, lacks string) error {
	delete(c.away.leaving, worker) // one that comes back need not leave for what it lacked before
	d := run.Data{Crew: maps.Clone(c.st.Crew), Away: maps.Clone(c.st.Away)}
	_, had := d.Crew[worker]
	if _, gone := d.Away[worker]; !had && !gone {
		return nil
	}
	delete(d.Crew, worker)
	delete(d.Away, worker)
	if d.Away == nil {
		d.Away = map[string]string{}
	}
	if lacks != "" {
		d.Away[worker] = lacks
	}
	held, notice := c.heldBy(worker), fmt.Sprintf("worker %s %s", worker, how)
	if len(held) > 0 {
		notice += fmt.Sprintf("; %d of its attempts continue elsewhere", len(held))
	}
	d.Notices = []string{notice}
	if err := c.append(ctx, run.Append{Data: d}); err != nil {
		return err
	}
	return c.giveAgain(ctx, held)
}

// giveAgain puts outstanding attempts on the queue again.
func (c *queue) giveAgain(ctx context.Context, had []*run.Work) error {
	for _, w := range had {
		err := c.takeBack(ctx, w)
		if err == nil {
			err = c.enqueue(ctx, w.Redispatch())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// heldBy lists the outstanding works whose newest delivery a worker has begun.
func (c *queue) heldBy(worker string) (had []*run.Work) {
	for _, w := range c.st.Queue {
		if a := w.Attempts[w.Last]; w.Outstanding() && a != nil && a.Worker == worker {
			had = append(had, w)
		}
	}
	return had
}

// unserved lists the roles that have work now and that no worker serves, with what the nearest one lacks.
func unserved(s *run.State, present map[string]*wire.Presence) map[string]run.Unserved {
	roles := map[string]bool{}
	for t := range s.Tasks.Open() {
		roles[t.Task.Role] = true
	}
	for _, w := range s.Queue {
		roles[w.RoleAt(w.Last)] = true
	}
	lacking, workers := map[string]run.Unserved{}, wire.Sorted(present)
	for role := range roles {
		if worker, lacks, served := wire.Nearest(workers, s.Spec.Run, role); !served {
			lacking[role] = run.Unserved{Why: whyUnserved(role, worker, lacks, workers)}
		}
	}
	return lacking
}

func whyUnserved(role, worker string, lacks []string, present []*wire.Presence) string {
	work := "the tasks of role " + role
	if role == spec.RoleTester {
		work = "setup and gates"
	}
	switch why := wire.WhyIncompatible(present); {
	case worker != "":
		return fmt.Sprintf("no worker can do %s: the nearest, %s, lacks %s", work, worker, strings.Join(lacks, ", "))
	case wire.WhyLacking(present) != "":
		return fmt.Sprintf("no worker can do %s now: %s; it continues by itself", work, wire.WhyLacking(present))
	case why != "":
		return fmt.Sprintf("no worker takes %s: %s", work, why)
	case len(present) > 0:
		return fmt.Sprintf("no worker takes %s: of %d on the server none is ready", work, len(present))
	}
	return fmt.Sprintf("no worker is on the server to do %s: start one", work)
}
