package schedule

import (
	"cmp"
	"fmt"
	"slices"

	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
)

// Ready returns the ids of the tasks that may be dispatched now, in their order, and the tasks that never can be, with the
// reason. It is a function of the state alone: caps, dependencies and write sets are all in it.
func Ready(s *run.State) (ready []string, unreachable map[string]string) {
	unreachable = map[string]string{}
	x := newTurns(s)
	for _, t := range inTurn(&s.Tasks) {
		switch h := x.take(t); h.by {
		case nothing:
			ready = append(ready, t.Task.ID)
		case lost:
			unreachable[t.Task.ID] = h.what
		}
	}
	return ready, unreachable
}

// turns is one pass over the pending tasks, in the order in which they are dispatched.
type turns struct {
	*run.State

	// room is how many more agents may begin, byRole how many are at work, joined how many attempts may share a process.
	room           int
	byRole, joined map[string]int
	sets           *sets
	first          canaries
	// dear reports, by role, that another attempt does not fit into the rest of the budget.
	dear map[string]bool
	// serial reports that a task which takes turns with others is active.
	serial, tooManyWaiting bool
	// passing are the tasks of the open passage; nil while no task has asked.
	passing map[*run.Task]bool
}

func newTurns(s *run.State) *turns {
	atWork, byRole := s.Queue.AtWork()
	x := &turns{
		State: s, room: s.Crew.Room(s.Spec.Parallel) - atWork, byRole: byRole, joined: s.Queue.Joined(), sets: newSets(s),
		dear: map[string]bool{}, first: canaries{s, map[string]*canary{}}, serial: serializedRunning(&s.Tasks, s.Works),
		tooManyWaiting: s.Queue.Waiting() >= maxWaiting,
	}
	if w := s.Works[run.BaselineTask]; w.Outstanding() {
		x.room++ // no task waits for the baseline
	}
	return x
}

// take has a task begin, unless something hinders it.
func (x *turns) take(t *run.Task) hindrance {
	h, of := x.hinders(t)
	if h.by != nothing {
		return h
	}
	x.serial = x.serial || serialized(t)
	x.sets.lock(t)
	x.first.take(t)
	if x.joined[of] == 0 {
		x.room--
		x.byRole[t.Task.Role]++
	}
	if of != "" {
		x.joined[of]++
	}
	return h
}

// hinders returns the first thing that keeps a task from beginning, and its group. What keeps most of thousands is asked first.
func (x *turns) hinders(t *run.Task) (h hindrance, of string) {
	if h = x.sets.dependencies(t); h.by != nothing {
		return h, ""
	}
	if h := x.Templates.Held[t]; h != nil {
		return hindrance{by: held, what: h.Template}, ""
	}
	if !x.Later[t.Task.ID].IsZero() {
		return hindrance{by: later}, ""
	}
	if h := x.outside(t); h.by != nothing {
		return h, ""
	}
	if set := x.Tasks.Set(t); set != nil && set.Lost != nil {
		return hindrance{by: setLost, what: set.Lost.Task.ID}, ""
	}
	if !approved(&x.Agenda, t) {
		return hindrance{by: approval}, ""
	}
	if t.IsTemplate() {
		return hindrance{by: expansion}, ""
	}
	if x.tooDear(t.Task.Role) {
		return hindrance{by: budget}, ""
	}
	of = group(&x.Spec, &x.Requests, t)
	joins := x.joined[of] > 0 // its group is one agent, which has its place already
	switch {
	case x.joined[of] >= maxJoined:
		return hindrance{by: process, what: of}, of
	case x.room <= 0 && !joins:
		return hindrance{by: places}, of
	}
	if role := x.Spec.Roles[t.Task.Role]; role.Concurrency > 0 && x.byRole[t.Task.Role] >= role.Concurrency && !joins {
		return hindrance{by: placesOfRole, what: t.Task.Role}, of
	}
	if other := x.sets.blocked(t); other != nil {
		return hindrance{by: writeSet, what: other.Task.ID}, of
	}
	switch {
	case x.tooManyWaiting && t.Parent == "":
		h.by = waiters
	case !x.first.lets(t):
		h = hindrance{by: firstShards, what: t.Task.ShardOf}
	case t.Attempt == t.Revised && x.Templates.Waits(t.Task.ShardOf):
		h = hindrance{by: laterShards, what: t.Task.ShardOf}
	case x.serial && serialized(t):
		h.by = conflicts
	}
	return h, of
}

// tooDear reports whether, at the end of the budget, an attempt of a role is not expected to fit. It holds back no other role.
func (x *turns) tooDear(role string) bool {
	if x.Said < run.WrapUp {
		return false
	}
	dear, known := x.dear[role]
	if !known {
		dear = x.Spec.Spends(role) && !x.Fits(role)
		x.dear[role] = dear
	}
	return dear
}

// maxJoined is how many attempts that may share a process are on the queue at once.
const maxJoined = 256

// group names the template with whose other shards the next attempt of a task may share a process: the first of its role's
// command, which is given the task's files and nothing else of its own.
func group(order *run.Spec, requests *run.Requests, t *run.Task) string {
	role := order.Roles[t.Task.Role]
	alike := t.Attempt == 0 && len(t.Task.Inputs) == 0 && slices.Equal(t.Task.Command, role.Command)
	if !role.Join || !alike || len(t.Task.Creates) > 0 || requests.For(t) != nil {
		return ""
	}
	return t.Task.ShardOf
}

// maxWaiting is above how many waiting agents only their children are started: each has a work tree.
const maxWaiting = 64

// inTurn lists the pending tasks in the order in which they are dispatched: first those that agents wait for, the deepest first,
// so that a waiting agent ends before others begin to wait; then in plan order.
func inTurn(tasks *run.Tasks) []*run.Task {
	pending := slices.Collect(tasks.In(run.TaskPending))
	deepest := func(a, b *run.Task) int { return cmp.Compare(b.Depth, a.Depth) }
	if !slices.IsSortedFunc(pending, deepest) {
		slices.SortStableFunc(pending, deepest)
	}
	return pending
}

// serializeAfter is the number of conflicts after which a task takes turns with all others that had as many.
const serializeAfter = 2

// serialized reports whether a task has conflicted so often that it takes turns with others like it: thirty tasks without a
// write set that all change the same line would otherwise be repeated thirty times each, and parked before their turn.
// The tasks of a change set wait for each other to land and never take turns.
func serialized(t *run.Task) bool {
	return t.Task.ChangeSet == "" && recovery.Conflicts(t) >= serializeAfter
}

// serializedRunning reports whether such a task is active.
func serializedRunning(tasks *run.Tasks, works run.Works) bool {
	for t := range tasks.Open() {
		if t.State != run.TaskPending && serialized(t) && !works[t.Task.ID].Waits() {
			return true
		}
	}
	return false
}

// approved reports whether the task's plan was approved. A plan of readers alone writes nothing and needs no approval.
func approved(agenda *run.Agenda, t *run.Task) bool {
	return agenda.Approval(t) || !agenda.Plans.Writes[t.Plan]
}

// dependencies returns what hinders a task that waits for others: the first one that never will be over, else the first one that
// is not.
func dependencies(agenda *run.Agenda, proofs *run.Proofs, t *run.Task) (h hindrance) {
	for _, ref := range t.After {
		ok, given, known := agenda.Tasks.Depends(ref)
		switch {
		case !known:
			return hindrance{by: lost, what: fmt.Sprintf("depends on %s, which is not in the plan", ref)}
		case given != nil:
			return hindrance{by: lost, what: fmt.Sprintf("depends on %s, which is %s", given.Task.ID, given.State)}
		case !ok && h.by == nothing:
			h = hindrance{by: dependency, what: ref}
		case !ok:
			h.more++
		}
	}
	if h.by == nothing {
		h = unmended(agenda, proofs, t)
	}
	return h
}
