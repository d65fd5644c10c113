package schedule

import (
	"divisi/orchestrator/plan"
	"divisi/orchestrator/run"
)

// Holding is the write set of a task that no other may write meanwhile.
type Holding struct {
	Task  string
	Files []string
}

// Held lists the write sets of every task between its dispatch and its end, retries included: a task that is repeated keeps its
// write set, so that no other task changes it before the next attempt. Those of a change set are held from its first dispatch on.
func Held(s *run.State) []Holding {
	var held []Holding
	for t := range s.Open() {
		c := s.Set(t)
		if len(t.Task.Files) > 0 && (t.Attempt > 0 || c != nil && c.Begun) {
			held = append(held, Holding{t.Task.ID, t.Task.Files})
		}
	}
	return held
}

// sets decides which tasks may begin beside those that have. A change set begins when all of its tasks can: one that holds files
// while it waits for a task that needs them would never land.
type sets struct {
	*run.State

	held []Holding
	// begun are the sets that begin now; waits caches the dependencies of the others.
	begun map[*run.ChangeSet]bool
	waits map[*run.ChangeSet]wait
}

// wait is what a set's dependencies come to: all are met, or one never will be.
type wait struct {
	met     bool
	why     string
	blocked bool
}

func newSets(s *run.State) *sets {
	return &sets{State: s, held: Held(s), begun: map[*run.ChangeSet]bool{}, waits: map[*run.ChangeSet]wait{}}
}

// whole returns the set that begins with a task; nil for none.
func (x *sets) whole(t *run.Task) *run.ChangeSet {
	if c := x.Set(t); c != nil && !c.Begun && !x.begun[c] {
		return c
	}
	return nil
}

func (x *sets) dependencies(t *run.Task) (met bool, why string) {
	c := x.whole(t)
	if c == nil {
		return dependencies(x.State, t)
	}
	w, known := x.waits[c]
	if !known {
		w = x.wait(c)
		x.waits[c] = w
	}
	return w.met && !w.blocked, w.why
}

func (x *sets) wait(c *run.ChangeSet) wait {
	w := wait{met: true}
	for _, m := range c.Members {
		met, why := dependencies(x.State, m)
		if why != "" {
			return wait{why: why}
		}
		w.met, w.blocked = w.met && met, w.blocked || x.meets(m)
	}
	return w
}

// blocked reports whether another task holds files of the task.
func (x *sets) blocked(t *run.Task) bool { return x.whole(t) == nil && x.meets(t) }

func (x *sets) meets(t *run.Task) bool {
	if len(t.Task.Files) == 0 {
		return false
	}
	for _, h := range x.held {
		own := h.Task == t.Task.ID || t.Task.ChangeSet != "" && x.Tasks[h.Task].Task.ChangeSet == t.Task.ChangeSet
		if own {
			continue
		}
		if _, ok := plan.Intersect(h.Files, t.Task.Files); ok {
			return true
		}
	}
	return false
}

// hold notes that a task is dispatched.
func (x *sets) hold(t *run.Task) {
	members := []*run.Task{t}
	if c := x.whole(t); c != nil {
		x.begun[c], members = true, c.Members
	}
	clear(x.waits) // another set may need these files
	for _, m := range members {
		x.held = append(x.held, Holding{m.Task.ID, m.Task.Files})
	}
}
