package schedule

import (
	"sync"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// sets decides which tasks may begin in addition to those that have. A change set begins when all of its tasks can: one that
// locks files while it waits for a task that needs them would never land.
type sets struct {
	*run.State

	locked []run.Lock
	// now are the tasks that are dispatched now, begun their sets; waits caches the dependencies of the other sets.
	now   map[*run.Task]bool
	begun map[*run.ChangeSet]bool
	waits map[*run.ChangeSet]wait
}

// wait is the reason why a set waits: dependencies, or a task that locks its files.
type wait struct {
	hindrance

	blocked func() *run.Task
}

func newSets(s *run.State) *sets {
	return &sets{
		State: s, locked: s.Tasks.Locked(), now: map[*run.Task]bool{}, begun: map[*run.ChangeSet]bool{},
		waits: map[*run.ChangeSet]wait{},
	}
}

// whole returns the set that begins with a task; nil for none.
func (x *sets) whole(t *run.Task) *run.ChangeSet {
	if c := x.Tasks.Set(t); c != nil && !c.Begun && !x.begun[c] {
		return c
	}
	return nil
}

func (x *sets) dependencies(t *run.Task) hindrance {
	c := x.whole(t)
	if c == nil {
		return dependencies(&x.Agenda, &x.Proofs, t)
	}
	w, known := x.waits[c]
	if !known {
		w = x.wait(c)
		x.waits[c] = w
	}
	return w.hindrance
}

func (x *sets) wait(c *run.ChangeSet) wait {
	var files []string
	w := wait{blocked: sync.OnceValue(func() *run.Task { return x.meets(c.Members[0], files) })}
	for _, m := range c.Members {
		files = append(files, m.Task.Files...)
		if h := dependencies(&x.Agenda, &x.Proofs, m); h.by == lost || w.by == nothing {
			w.hindrance = h
		}
		if w.by == lost {
			break
		}
	}
	return w
}

// blocked returns another task that locks files of the task, or of the set that begins with it; nil for none.
func (x *sets) blocked(t *run.Task) *run.Task {
	if c := x.whole(t); c != nil {
		return x.waits[c].blocked()
	}
	return x.meets(t, t.Task.Files)
}

// meets returns another task that locks some of the files, which are the task's or those of its change set; nil for none.
func (x *sets) meets(t *run.Task, files []string) *run.Task {
	if len(files) == 0 {
		return nil
	}
	locked, meet := x.Tasks.Locks(t), spec.Against(files)
	for _, l := range x.locked {
		other := x.Tasks.ByID[l.Task]
		own := other == t || t.Task.ChangeSet != "" && other.Task.ChangeSet == t.Task.ChangeSet
		// A task that is added to a set, or waits again with it, may lock what another one has locked already: the first in the
		// plan continues.
		if own || locked && other.State == run.TaskPending && !x.now[other] && run.PlanOrder(t, other) < 0 {
			continue
		}
		if _, ok := meet(l.Files); ok {
			return other
		}
	}
	return nil
}

// lock notes that a task is dispatched.
func (x *sets) lock(t *run.Task) {
	x.now[t] = true
	members, c := []*run.Task{t}, x.whole(t)
	switch {
	case c != nil:
		x.begun[c], members = true, c.Members
	case x.Tasks.Locks(t) || x.begun[x.Tasks.Set(t)]:
		return
	}
	clear(x.waits) // another set may need these files
	for _, m := range members {
		x.locked = append(x.locked, run.Lock{Task: m.Task.ID, Files: m.Task.Files})
	}
}
