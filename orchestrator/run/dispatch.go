package run

import "divisi/contextscope"

// Works are the works of everything that was ever on the queue, by queue id.
type Works map[string]*Work

// void notes that no result is expected of the newest attempts of some works any more.
func (w Works) void(ids ...string) {
	for _, id := range ids {
		if a := w[id].Newest(); a != nil {
			a.Void = true
		}
	}
}

// Queue are the works whose newest attempt has no result, by queue id: those that are outstanding, and those that were cancelled
// and have not ended yet.
type Queue map[string]*Work

// track notes whether a work is on the queue.
func (q Queue) track(w *Work) {
	if a := w.Attempts[w.Last]; a != nil && a.Result == nil {
		q[w.ID] = w
	} else {
		delete(q, w.ID)
	}
}

// AtWork counts the attempts that are on the queue or with a worker and do not wait for others; byRole has them by role. Those of
// one template that may share a process count as one. The second run of the gates on the base commit is left out: nothing waits
// for it.
func (q Queue) AtWork() (all int, byRole map[string]int) {
	groups := map[string]bool{}
	byRole = map[string]int{}
	for _, w := range q {
		if !w.Outstanding() || w.Waits() || w.ID == FlakesTask {
			continue
		}
		if group := w.Newest().Group; group != "" {
			if groups[group] {
				continue
			}
			groups[group] = true
		}
		all++
		byRole[w.RoleAt(w.Last)]++
	}
	return all, byRole
}

// Joined counts the outstanding attempts that may share a process, by template.
func (q Queue) Joined() map[string]int {
	joined := map[string]int{}
	for _, w := range q {
		if group := w.Newest().Group; group != "" && w.Outstanding() {
			joined[group]++
		}
	}
	return joined
}

// Waiting counts the attempts whose agents wait for others.
func (q Queue) Waiting() int {
	n := 0
	for _, w := range q {
		if w.Waits() {
			n++
		}
	}
	return n
}

func (s *State) dispatched(e *contextscope.Event, d *Dispatch) {
	if d == nil {
		return
	}
	w := s.Works[d.Task]
	if w == nil {
		w = &Work{ID: d.Task, Role: d.Role, Attempts: map[int]*Attempt{}}
		s.Works[d.Task] = w
	}
	w.Last = max(w.Last, d.Attempt)
	if a := s.Works.Attempt(d.Task, d.Attempt); a != nil {
		a.Role, a.Head, a.Epoch, a.Dispatched, a.Pos = d.Role, d.Head, s.Epoch, e.Time.UnixMilli(), e.Pos
		a.Tokens, a.Assignment, a.Group, a.InFirst, a.Not = d.Tokens, d.Assignment, d.Group, d.InFirst, d.Not
		a.down = s.Times.Down
		a.Life.Dispatched = s.Times.Clock(e.Time)
		s.Tasks.hand(d.Task, a) // the result of a worker that did not wait for it
	}
	s.Queue.track(w)
}

// Next is the number of the next attempt of a work.
func (w Works) Next(id string) int {
	if of := w[id]; of != nil {
		return of.Last + 1
	}
	return 1
}

// Attempt returns the view of an attempt of something that was dispatched, made on demand; nil for anything else.
func (w Works) Attempt(id string, n int) *Attempt {
	work := w[id]
	if work == nil || n < 1 {
		return nil
	}
	if work.Attempts[n] == nil {
		work.Attempts[n] = &Attempt{Attempt: n}
	}
	return work.Attempts[n]
}

// ByPerson reports whether a person made the newest attempt of a task.
func (w Works) ByPerson(t *Task) bool {
	a := w[t.Task.ID].At(t.Attempt)
	return a != nil && a.Given
}
