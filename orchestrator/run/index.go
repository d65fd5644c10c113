package run

import (
	"cmp"
	"iter"
	"slices"
)

// index finds what has not ended, so that no rule walks finished tasks.
type index struct {
	// open are the tasks that have not ended, states the same by state; both are in plan order. counts has all tasks by state,
	// givenUp the planned ones among those that were given up.
	open    tasks
	states  map[TaskState]tasks
	counts  map[TaskState]int
	givenUp int
	// writes reports of each plan whether a task of it changes files; toApprove are the plans that a person has to approve.
	writes    []bool
	toApprove []int
	// ended are the tasks that have ended, in the order of their ends.
	ended []*Task
	// shardsOpen counts the shards of a template that have not ended; shardsLost has the first one that was given up.
	shardsOpen map[string]int
	shardsLost map[string]*Task
	// sets are the change sets, by name.
	sets map[string]*ChangeSet
	// templates are those with a shard that failed or passed; doubtful are those with a failure that enough shards have had.
	templates, doubtful map[string]*shards
	// held are the tasks that a hold keeps from starting, holds the open ones by template.
	held  map[*Task]*Hold
	holds []*Hold
}

func newIndex() index {
	return index{
		states: map[TaskState]tasks{}, counts: map[TaskState]int{},
		shardsOpen: map[string]int{}, shardsLost: map[string]*Task{},
		sets: map[string]*ChangeSet{}, templates: map[string]*shards{}, doubtful: map[string]*shards{}, held: map[*Task]*Hold{},
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
func (x *index) add(t *Task) {
	x.count(t, 1)
	if !t.Ended() {
		x.open, x.states[t.State] = x.open.with(t), x.states[t.State].with(t)
	}
}

func (x *index) remove(t *Task) {
	x.count(t, -1)
	if !t.Ended() {
		x.open, x.states[t.State] = x.open.without(t), x.states[t.State].without(t)
	}
}

func (x *index) count(t *Task, n int) {
	x.counts[t.State] += n
	if !t.Ended() {
		x.shardsOpen[t.Task.ShardOf] += n
	}
	if t.GivenUp() && t.Parent == "" {
		x.givenUp += n
	}
	if c := x.sets[t.Task.ChangeSet]; c != nil && !t.Ended() && t.State != TaskAccepted {
		c.outstanding += n
	}
}

// set moves a task to a state, at a position of the log. It reports whether the task ended with it.
func (x *index) set(t *Task, to TaskState, pos uint64) (ended bool) {
	had, lost := t.Ended(), t.GivenUp()
	x.remove(t)
	t.State = to
	x.add(t)
	if lost && !t.GivenUp() {
		had = false
		x.reopen(t)
	}
	if template := t.Task.ShardOf; t.GivenUp() && x.shardsLost[template] == nil {
		x.shardsLost[template] = t
	}
	if c := x.sets[t.Task.ChangeSet]; c != nil && t.GivenUp() && c.Lost == nil {
		c.Lost = t
	}
	if had || !t.Ended() {
		return false
	}
	t.EndedPos = pos
	x.ended = append(x.ended, t)
	if (t.State == TaskDone || t.State == TaskLanded) && t.Task.ShardOf != "" {
		x.template(t).passed++
		if t.State == TaskLanded {
			x.template(t).landed++
		}
		x.forgive(t)
	}
	return true
}

// reopen forgets that a task was given up.
func (x *index) reopen(t *Task) {
	x.ended, t.EndedPos = slices.DeleteFunc(x.ended, func(o *Task) bool { return o == t }), 0
	if template := t.Task.ShardOf; x.shardsLost[template] == t {
		x.shardsLost[template] = x.lost(func(o *Task) bool { return o.Task.ShardOf == template })
	}
	if c := x.sets[t.Task.ChangeSet]; c != nil && c.Lost == t {
		c.Lost = x.lost(func(o *Task) bool { return o.Task.ChangeSet == c.Name })
	}
}

// lost is the oldest of some tasks that was given up; nil for none.
func (x *index) lost(of func(*Task) bool) *Task {
	i := slices.IndexFunc(x.ended, func(t *Task) bool { return t.GivenUp() && of(t) })
	if i < 0 {
		return nil
	}
	return x.ended[i]
}

// In yields the tasks in a state that is no end, in plan order.
func (s *State) In(state TaskState) iter.Seq[*Task] { return slices.Values(s.states[state]) }

// Open yields the tasks that have not ended, in plan order.
func (s *State) Open() iter.Seq[*Task] { return slices.Values(s.open) }

// Ends returns the tasks that ended at a position or after it, in plan order.
func (s *State) Ends(from uint64) []*Task {
	i := len(s.ended)
	for i > 0 && s.ended[i-1].EndedPos >= from {
		i--
	}
	return slices.SortedFunc(slices.Values(s.ended[i:]), PlanOrder)
}

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
