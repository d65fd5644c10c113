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
	room, byRole := s.Queue.AtWork()
	room = s.Crew.Room(s.Spec.Parallel) - room
	if w := s.Works[run.BaselineTask]; w.Outstanding() {
		room++ // no task waits for the baseline
	}
	sets, first, joined := newSets(s), canaries{s, map[string]*canary{}}, s.Queue.Joined()
	running, tooManyWaiting := serializedRunning(s), s.Queue.Waiting() >= maxWaiting
	for _, t := range inTurn(s) {
		id := t.Task.ID
		met, why := sets.dependencies(t)
		if why != "" {
			unreachable[id] = why
			continue
		}
		set := s.Tasks.Set(t)
		group := group(s, t)
		joins := joined[group] > 0 // its group is one agent, which has its place already
		full := room <= 0 && !joins || joined[group] >= maxJoined
		if !met || full || s.Templates.Held[t] != nil || set != nil && set.Lost != nil { // most of thousands
			continue
		}
		role := s.Spec.Roles[t.Task.Role]
		full = role.Concurrency > 0 && byRole[role.Name] >= role.Concurrency && !joins
		if full || !approved(s, t) || sets.blocked(t) || tooManyWaiting && t.Parent == "" || !first.lets(t) {
			continue
		}
		if serialized(t) {
			if running {
				continue
			}
			running = true
		}
		ready = append(ready, id)
		sets.lock(t)
		first.take(t)
		if !joins {
			room--
			byRole[role.Name]++
		}
		if group != "" {
			joined[group]++
		}
	}
	return ready, unreachable
}

// maxJoined is how many attempts that may share a process are on the queue at once.
const maxJoined = 256

// group names the template with whose other shards the next attempt of a task may share a process: the first of its role's
// command, which is given the task's files and nothing else of its own.
func group(s *run.State, t *run.Task) string {
	role := s.Spec.Roles[t.Task.Role]
	alike := t.Attempt == 0 && len(t.Task.Inputs) == 0 && slices.Equal(t.Task.Command, role.Command)
	if !role.Join || !alike || s.Requests.For(t) != nil {
		return ""
	}
	return t.Task.ShardOf
}

// maxWaiting is above how many waiting agents only their children are started: each has a work tree.
const maxWaiting = 64

// inTurn lists the pending tasks in the order in which they are dispatched: first those that agents wait for, the deepest first,
// so that a waiting agent ends before others begin to wait; then in plan order.
func inTurn(s *run.State) []*run.Task {
	pending := slices.Collect(s.Tasks.In(run.TaskPending))
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
func serializedRunning(s *run.State) bool {
	for t := range s.Tasks.Open() {
		if t.State != run.TaskPending && serialized(t) && !s.Works[t.Task.ID].Waits() {
			return true
		}
	}
	return false
}

// approved reports whether the task's plan was approved. A plan of readers alone writes nothing and needs no approval.
func approved(s *run.State, t *run.Task) bool { return s.Approval(t) || !s.Plans.Writes[t.Plan] }

// dependencies reports whether all of a task's dependencies are met; why is set when one of them never will be.
func dependencies(s *run.State, t *run.Task) (met bool, why string) {
	met = true
	for _, ref := range t.After {
		ok, lost, known := s.Tasks.Depends(ref)
		switch {
		case !known:
			return false, fmt.Sprintf("depends on %s, which is not in the plan", ref)
		case lost != nil:
			return false, fmt.Sprintf("depends on %s, which is %s", lost.Task.ID, lost.State)
		}
		met = met && ok
	}
	return met, ""
}
