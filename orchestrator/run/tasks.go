package run

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"divisi/internal/spec"
)

// Tasks are all tasks of the run, with indexes of those that have not ended, so that no rule walks finished ones.
type Tasks struct {
	// Order has the ids of ByID in plan order. Shards are the tasks that each template was expanded to, in plan order: a task
	// that names the template means them all.
	ByID   map[string]*Task
	Order  []string
	Shards map[string][]string
	// mending are those that mend a gate, later the templates that expand later.
	mending, later []string
	// Queued counts the patches that were accepted, those of a change set as one.
	Queued int
	// open are the tasks that have not ended, states the same by state; both are in plan order. counts has all tasks by state,
	// givenUp the planned ones among those that were given up.
	open    tasks
	states  map[TaskState]tasks
	counts  map[TaskState]int
	givenUp int
	// ended are the tasks that have ended, in the order of their ends.
	ended []*Task
	// shardsOpen counts the shards of a template that have not ended; shardsLost has the first one that was given up.
	shardsOpen map[string]int
	shardsLost map[string]*Task
	// Sets are the change sets, by name.
	Sets map[string]*ChangeSet
	// parts counts the parts of split batches, placed the tasks of all plans.
	parts, placed int
	// unliked is where in the log the newest answer about patches that are unlike others is; 0 for none.
	unliked uint64
}

func newTasks() Tasks {
	return Tasks{
		ByID: map[string]*Task{}, Shards: map[string][]string{}, states: map[TaskState]tasks{}, counts: map[TaskState]int{},
		shardsOpen: map[string]int{}, shardsLost: map[string]*Task{}, Sets: map[string]*ChangeSet{},
	}
}

// tasks are some tasks in plan order.
type tasks []*Task

func (l tasks) find(t *Task) (int, bool) { return slices.BinarySearchFunc(l, t, PlanOrder) }

// PlanOrder compares two tasks by their places in the plan.
func PlanOrder(a, b *Task) int { return cmp.Compare(a.place, b.place) }

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

// add adds a task in its state.
func (l *Tasks) add(t *Task) {
	l.count(t, 1)
	if !t.Ended() {
		l.open, l.states[t.State] = l.open.with(t), l.states[t.State].with(t)
	}
}

func (l *Tasks) remove(t *Task) {
	l.count(t, -1)
	if !t.Ended() {
		l.open, l.states[t.State] = l.open.without(t), l.states[t.State].without(t)
	}
}

func (l *Tasks) count(t *Task, n int) {
	if !t.IsTemplate() {
		l.counts[t.State] += n
	}
	if !t.Ended() {
		l.shardsOpen[t.Task.ShardOf] += n
	}
	if t.GivenUp() && t.Parent == "" && !t.Task.InRound() { // the next round has the findings of one in a round
		l.givenUp += n
	}
	if c := l.Sets[t.Task.ChangeSet]; c != nil && !t.Ended() && t.State != TaskAccepted {
		c.outstanding += n
	}
}

// set moves a task to a state, at a position of the log. It reports whether the task ended with it.
func (l *Tasks) set(t *Task, to TaskState, pos uint64) (ended bool) {
	had, lost := t.Ended(), t.GivenUp()
	l.remove(t)
	t.State = to
	l.add(t)
	if lost && !t.GivenUp() {
		had = false
		l.reopen(t)
	}
	if template := t.Task.ShardOf; t.GivenUp() && l.shardsLost[template] == nil {
		l.shardsLost[template] = t
	}
	if c := l.Sets[t.Task.ChangeSet]; c != nil && t.GivenUp() && c.Lost == nil {
		c.Lost = t
	}
	if had || !t.Ended() {
		return false
	}
	t.EndedPos = pos
	l.ended = append(l.ended, t)
	return true
}

// reopen forgets that a task was given up.
func (l *Tasks) reopen(t *Task) {
	l.ended, t.EndedPos = slices.DeleteFunc(l.ended, func(o *Task) bool { return o == t }), 0
	if template := t.Task.ShardOf; l.shardsLost[template] == t {
		l.shardsLost[template] = l.lost(func(o *Task) bool { return o.Task.ShardOf == template })
	}
	if c := l.Sets[t.Task.ChangeSet]; c != nil && c.Lost == t {
		c.Lost = l.lost(func(o *Task) bool { return o.Task.ChangeSet == c.Name })
	}
}

// lost is the oldest of some tasks that was given up; nil for none.
func (l *Tasks) lost(of func(*Task) bool) *Task {
	i := slices.IndexFunc(l.ended, func(t *Task) bool { return t.GivenUp() && of(t) })
	if i < 0 {
		return nil
	}
	return l.ended[i]
}

// All yields the tasks in plan order.
func (l *Tasks) All() iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		for _, id := range l.Order {
			if !yield(l.ByID[id]) {
				return
			}
		}
	}
}

// In yields the tasks in a state that is no end, in plan order.
func (l *Tasks) In(state TaskState) iter.Seq[*Task] { return slices.Values(l.states[state]) }

// Open yields the tasks that have not ended, in plan order.
func (l *Tasks) Open() iter.Seq[*Task] { return slices.Values(l.open) }

// Ends returns the tasks that ended at a position or after it, in plan order.
func (l *Tasks) Ends(from uint64) []*Task {
	i := len(l.ended)
	for i > 0 && l.ended[i-1].EndedPos >= from {
		i--
	}
	return slices.SortedFunc(slices.Values(l.ended[i:]), PlanOrder)
}

// OpenShards reports whether a shard of a template has not ended.
func (l *Tasks) OpenShards(template string) bool { return l.shardsOpen[template] > 0 }

// Depends reports whether a dependency, a task or a template, is satisfied; lost is the task that was given up or dropped, so
// that it never will be. known is false where the plan has no such task.
func (l *Tasks) Depends(ref string) (met bool, lost *Task, known bool) {
	if t := l.ByID[ref]; t != nil && !t.expanded() {
		if t.GivenUp() || t.State == TaskDropped {
			return false, t, true
		}
		return t.Ended(), nil, true
	}
	return l.shardsOpen[ref] == 0, l.shardsLost[ref], len(l.Shards[ref]) > 0 || l.ByID[ref] != nil
}

// Count is how many tasks are in a state.
func (l *Tasks) Count(state TaskState) int { return l.counts[state] }

// Counts returns how many tasks are in each state.
func (l *Tasks) Counts() map[TaskState]int {
	n := maps.Clone(l.counts)
	maps.DeleteFunc(n, func(_ TaskState, n int) bool { return n == 0 })
	return n
}

// Planned are all of the run's, in plan order.
func (l *Tasks) Planned() []spec.Task {
	out := make([]spec.Task, 0, len(l.Order))
	for t := range l.All() {
		out = append(out, t.Task)
	}
	return out
}

// RolesAbove are the roles above a request of a task's agent, the outermost first: its own, those that transferred the task
// to it, and those of the agents that had asked for the task.
func (l *Tasks) RolesAbove(t *Task) []string {
	var roles []string
	for up := t; up != nil; up = l.ByID[up.Parent] {
		roles = append(roles, up.Task.Role)
		for _, h := range slices.Backward(up.Handovers) {
			roles = append(roles, h.Role)
		}
	}
	slices.Reverse(roles)
	return roles
}

// Members are the tasks that a reference names: the task itself, or the shards of a template, behind a template that has more to
// expand.
func (l *Tasks) Members(ref string) []string {
	switch t := l.ByID[ref]; {
	case t == nil, t.expanded() && len(l.Shards[ref]) > 0:
		return l.Shards[ref]
	default:
		ended := func(id string) bool { return l.ByID[id].Ended() }
		return append([]string{ref}, slices.DeleteFunc(slices.Clone(l.Shards[ref]), ended)...)
	}
}

// Templates yields the templates that expand later, in plan order.
func (l *Tasks) Templates() iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		for _, id := range l.later {
			if t := l.ByID[id]; t != nil && !yield(t) {
				return
			}
		}
	}
}

// Single is the task of an id that is no template's; nil for none.
func (l *Tasks) Single(id string) *Task {
	if t := l.ByID[id]; t != nil && !t.IsTemplate() {
		return t
	}
	return nil
}

// AllEnded reports whether every task has ended.
func (l *Tasks) AllEnded() bool { return len(l.open) == 0 }

// NoneGivenUp reports whether no planned task was given up. A task that an agent had asked for does not count: that agent
// reports it.
func (l *Tasks) NoneGivenUp() bool { return l.givenUp == 0 }

// dropOrphans removes the pending tasks that wait for a task that no plan has, until there is none.
func (l *Tasks) dropOrphans() {
	orphan := func(t *Task) bool {
		return t.State == TaskPending && slices.ContainsFunc(t.After, func(ref string) bool {
			_, _, known := l.Depends(ref)
			return !known
		})
	}
	for l.drop(orphan) {
	}
}

// drop removes the tasks that a function names, and reports whether there was one.
func (l *Tasks) drop(which func(*Task) bool) bool {
	had := len(l.Order)
	for t := range l.All() {
		if which(t) {
			l.forget(t)
		}
	}
	gone := func(id string) bool { return l.ByID[id] == nil }
	l.Order = slices.DeleteFunc(l.Order, gone)
	for template, ids := range l.Shards {
		if l.Shards[template] = slices.DeleteFunc(ids, gone); len(l.Shards[template]) == 0 {
			delete(l.Shards, template)
		}
	}
	return len(l.Order) < had
}

// forget removes a task that never started, but for its name in the lists of all.
func (l *Tasks) forget(t *Task) {
	l.remove(t)
	delete(l.ByID, t.Task.ID)
	same := func(other *Task) bool { return other == t }
	l.ended = slices.DeleteFunc(l.ended, same)
	if template := t.Task.ShardOf; l.shardsLost[template] == t {
		delete(l.shardsLost, template)
	}
	l.leave(t)
}
