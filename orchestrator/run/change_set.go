package run

import (
	"slices"

	"divisi/internal/spec"
)

// ChangeSet is some tasks that are tested as one and land as one, or none of them does.
type ChangeSet struct {
	Name string
	// Members are in plan order.
	Members []*Task
	// Begun reports that a task of it was dispatched: from then on all of their write sets are held.
	Begun bool
	// Lost is the first task of it that was given up; with it all are.
	Lost *Task
	// outstanding counts the tasks that have neither ended nor handed in their result.
	outstanding int
}

// Set returns the change set of a task; nil for none.
func (s *State) Set(t *Task) *ChangeSet { return s.sets[t.Task.ChangeSet] }

// Complete reports whether all tasks of the set that have not ended wait for the queue.
func (c *ChangeSet) Complete() bool { return c.outstanding == 0 }

// Unproven reports whether the tests of a task's newest attempt have yet to fail without the change.
func (s *State) Unproven(t *Task) bool {
	proves := s.Spec.Roles[t.Task.Role].Proves == spec.ProvesRedGreen && t.Task.ChangeSet != ""
	return proves && (t.Red == nil || t.Red.Of != t.Attempt || len(t.Red.Failed) == 0)
}

// SetBegun reports whether a task of a change set was dispatched.
func (s *State) SetBegun(set string) bool { return s.sets[set] != nil && s.sets[set].Begun }

// GivenUp reports whether a change set was given up.
func (s *State) GivenUp(set string) bool { return s.sets[set] != nil && s.sets[set].Lost != nil }

// Revives reports whether a change set was parked for what is missing in it: a task that is added to it opens it.
func (s *State) Revives(set string) bool { return s.sets[set] != nil && s.revivable(s.sets[set]) }

// Why returns why no task can be added to a change set; "" where one can.
func (s *State) Why(set string) string {
	c := s.sets[set]
	switch {
	case c == nil, !c.Members[0].Ended() && c.Lost == nil && c.Members[0].State != TaskLanding, s.revivable(c):
		return ""
	case c.Lost != nil:
		return "it was given up, since " + c.Lost.Task.ID + " is " + string(c.Lost.State) + ": " + c.Lost.Reason
	case c.Members[0].State == TaskLanding:
		return "it is being tested"
	}
	return "it has landed"
}

// revivable reports whether a set was parked as a whole, for what is missing in it, and no task of it for a fault of its own.
func (s *State) revivable(c *ChangeSet) bool {
	return c.Lost != nil && !slices.ContainsFunc(c.Members, func(t *Task) bool {
		return t.State != TaskParked || !t.HandedIn() || t.Undecided() != nil
	})
}

// HandedIn reports whether the newest attempt of a task ended well, nothing was found against it, and the task was not revised
// since.
func (t *Task) HandedIn() bool {
	failed := len(t.Faults) > 0 && t.Faults[len(t.Faults)-1].Attempt == t.Attempt
	r := t.Result
	return !failed && t.Revised != t.Attempt && r != nil && r.Attempt == t.Attempt && r.Status == spec.StatusDone && !r.HandedOver
}

// Undecided returns the doubt about the newest patch of a task that was given up before a decision; nil for none. What only a
// review waited for is no doubt.
func (t *Task) Undecided() *Doubt {
	if n := len(t.Doubts); n > 0 && t.Doubts[n-1].Attempt == t.Attempt && t.Doubts[n-1].Ruling == nil && !t.Doubts[n-1].Review {
		return &t.Doubts[n-1]
	}
	return nil
}

// join adds a planned task to its change set, before it is counted. Where that was parked, its tasks wait again: the new one
// has what was missing.
func (s *State) join(t *Task) {
	name := t.Task.ChangeSet
	if name == "" {
		return
	}
	c := s.sets[name]
	if c == nil {
		c = &ChangeSet{Name: name}
		s.sets[name] = c
	}
	if c.Lost != nil && s.revivable(c) {
		for _, m := range c.Members {
			m.Reason = ""
			s.set(m, TaskAccepted, 0)
		}
	}
	c.Members = append(c.Members, t)
}

// leave removes a task that ended from its change set: the others land without it.
func (s *State) leave(t *Task) {
	c := s.Set(t)
	if c == nil {
		return
	}
	same := func(other *Task) bool { return other == t }
	if c.Members = slices.DeleteFunc(c.Members, same); c.Lost == t {
		c.Lost = s.lost(func(o *Task) bool { return o != t && o.Task.ChangeSet == c.Name })
	}
	if len(c.Members) == 0 {
		delete(s.sets, c.Name)
	}
}

// begin notes that a task of a change set was dispatched.
func (s *State) begin(t *Task) {
	if c := s.Set(t); c != nil {
		c.Begun = true
	}
}

// restart notes on which commit the next attempts of a task of a change set begin, and whether its work so far is in there.
func (s *State) restart(t *Task, d TaskData) {
	kept := t.Patches()
	t.Head, t.Kept = d.Head, nil
	if d.Kept {
		t.Kept = kept
	}
}
