package run

import (
	"cmp"
	"iter"
	"slices"
)

// index finds what is not over, so that no rule walks finished tasks.
type index struct {
	// open are the tasks that have not ended, states the tasks by state; both are in plan order.
	open   tasks
	states map[TaskState]tasks
	// active are the works whose newest attempt has no result, by queue id.
	active map[string]*Work
	// unanswered are the requests without an answer, oldest first; byTask has all requests of the agents of a queue id.
	unanswered []*Request
	byTask     map[string][]*Request
	// ended are the tasks that have ended, in the order of their ends.
	ended []*Task
	// shardsOpen counts the shards of a template that have not ended; shardsLost has the first one that was given up.
	shardsOpen map[string]int
	shardsLost map[string]*Task
}

func newIndex() index {
	return index{
		states: map[TaskState]tasks{}, active: map[string]*Work{}, byTask: map[string][]*Request{},
		shardsOpen: map[string]int{}, shardsLost: map[string]*Task{},
	}
}

// tasks are some tasks in plan order.
type tasks []*Task

func (l tasks) find(t *Task) (int, bool) {
	return slices.BinarySearchFunc(l, t, func(a, b *Task) int { return cmp.Compare(a.place, b.place) })
}

func (l tasks) with(t *Task) tasks {
	i, found := l.find(t)
	if found {
		return l
	}
	return slices.Insert(l, i, t)
}

func (l tasks) without(t *Task) tasks {
	i, found := l.find(t)
	if !found {
		return l
	}
	return slices.Delete(l, i, i+1)
}

// add adds a task that is pending.
func (x *index) add(t *Task) {
	x.open, x.states[t.State] = x.open.with(t), x.states[t.State].with(t)
	x.shardsOpen[t.Task.ShardOf]++
}

// set moves a task to a state, at a position of the log.
func (x *index) set(t *Task, to TaskState, pos uint64) {
	was := t.Ended()
	x.states[t.State] = x.states[t.State].without(t)
	t.State = to
	x.states[to] = x.states[to].with(t)
	template := t.Task.ShardOf
	switch {
	case was && !t.Ended():
		x.open = x.open.with(t)
		x.shardsOpen[template]++
	case !was && t.Ended():
		x.open = x.open.without(t)
		x.shardsOpen[template]--
		t.EndedPos = pos
		x.ended = append(x.ended, t)
	}
	if t.GivenUp() && x.shardsLost[template] == nil {
		x.shardsLost[template] = t
	}
}

// track notes whether a work is active.
func (x *index) track(w *Work) {
	if a := w.Attempts[w.Last]; a != nil && a.Result == nil {
		x.active[w.ID] = w
	} else {
		delete(x.active, w.ID)
	}
}

// Active returns the works whose newest attempt has no result, by queue id: those that are outstanding, and those that were
// cancelled and have not ended yet. It is not to be changed.
func (s *State) Active() map[string]*Work { return s.active }

// In yields the tasks in a state, in plan order.
func (s *State) In(state TaskState) iter.Seq[*Task] { return slices.Values(s.states[state]) }

// Open yields the tasks that have not ended, in plan order.
func (s *State) Open() iter.Seq[*Task] { return slices.Values(s.open) }

// Ends returns the tasks that ended at a position or after it, in plan order.
func (s *State) Ends(from uint64) []*Task {
	i := len(s.ended)
	for i > 0 && s.ended[i-1].EndedPos >= from {
		i--
	}
	return slices.SortedFunc(slices.Values(s.ended[i:]), func(a, b *Task) int { return cmp.Compare(a.place, b.place) })
}

// RequestsOf returns the requests of the agents of a task, or of its tester, oldest first.
func (s *State) RequestsOf(id string) []*Request { return s.byTask[id] }

// Depends reports whether a dependency, a task or a template, is satisfied; lost is the task that was given up, so that it never
// will be. known is false where the plan has no such task.
func (s *State) Depends(ref string) (met bool, lost *Task, known bool) {
	if t := s.Tasks[ref]; t != nil {
		if t.GivenUp() {
			return false, t, true
		}
		return t.Ended(), nil, true
	}
	return s.shardsOpen[ref] == 0, s.shardsLost[ref], len(s.Shards[ref]) > 0
}
