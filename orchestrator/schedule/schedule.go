package schedule

import (
	"cmp"
	"fmt"
	"slices"

	"divisi/orchestrator/plan"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Ready returns the ids of the tasks that may be dispatched now, in plan order, and the tasks that never can be, with the
// reason. It is a function of the state alone: caps, dependencies and write sets are all in it.
func Ready(s *run.State) (ready []string, doomed map[string]string) {
	doomed = map[string]string{}
	room, byRole := s.AtWork()
	room = max(1, s.Spec.Parallel) - room
	held, known, turn, crowded := Held(s), map[string]depStatus{}, serializedRunning(s), s.Waiting() >= maxWaiting
	for _, id := range inTurn(s) {
		t := s.Tasks[id]
		if t.State != run.TaskPending {
			continue
		}
		met, why := dependencies(s, t, known)
		if why != "" {
			doomed[id] = why
			continue
		}
		role := s.Spec.Roles[t.Task.Role]
		full := role.Concurrency > 0 && byRole[role.Name] >= role.Concurrency
		if !met || full || room <= 0 || !approved(s, t) || meets(s, t, held) || crowded && t.Parent == "" {
			continue
		}
		if serialized(t) {
			if turn {
				continue
			}
			turn = true
		}
		ready = append(ready, id)
		held = append(held, Holding{id, t.Task.Files})
		room--
		byRole[role.Name]++
	}
	return ready, doomed
}

// maxWaiting is how many agents may wait for others before no task is begun that nobody waits for: each has a work tree.
const maxWaiting = 64

// inTurn lists the tasks in the order in which they are dispatched: first those that agents wait for, the deepest first, so that
// who waits comes to an end before others begin to; then in plan order.
func inTurn(s *run.State) []string {
	var asked []string
	for _, id := range s.Order {
		if t := s.Tasks[id]; t.Parent != "" && !t.Ended() {
			asked = append(asked, id)
		}
	}
	if len(asked) == 0 {
		return s.Order
	}
	slices.SortStableFunc(asked, func(a, b string) int { return cmp.Compare(s.Tasks[b].Depth, s.Tasks[a].Depth) })
	for _, id := range s.Order {
		if s.Tasks[id].Parent == "" {
			asked = append(asked, id)
		}
	}
	return asked
}

// serializeAfter is after how many conflicts a task takes turns with all others that had as many.
const serializeAfter = 2

// serialized reports whether a task has conflicted so often that it no longer runs beside its like: thirty tasks without a
// write set that all want the same line would else be made anew thirty times each, and parked before their turn came.
func serialized(t *run.Task) bool {
	n := 0
	for _, f := range t.Faults {
		if f.Fault.Class == wire.FaultConflict {
			n++
		}
	}
	return n >= serializeAfter
}

// serializedRunning reports whether such a task is at work.
func serializedRunning(s *run.State) bool {
	for _, t := range s.Tasks {
		if t.State != run.TaskPending && !t.Ended() && serialized(t) && !s.AgentWaits(t.Task.ID) {
			return true
		}
	}
	return false
}

// approved reports whether the task's plan was taken. A plan of readers alone writes nothing and needs nobody's word.
func approved(s *run.State, t *run.Task) bool { return s.Approval(t) || !s.PlanWrites(t.Plan) }

// dependencies reports whether all of a task's dependencies are met; why is set when one of them never will be.
// known keeps what was found of templates: thousands of shards may wait for the same thousands.
func dependencies(s *run.State, t *run.Task, known map[string]depStatus) (met bool, why string) {
	met = true
	for _, id := range t.After {
		st, ok := known[id]
		if !ok {
			st = statusOf(s, id)
			if s.Tasks[id] == nil {
				known[id] = st
			}
		}
		if st.why != "" {
			return false, st.why
		}
		met = met && st.met
	}
	return met, ""
}

// depStatus is how a dependency stands: over and well, or, with why set, over for good.
type depStatus struct {
	met bool
	why string
}

func statusOf(s *run.State, ref string) depStatus {
	ids := s.Members(ref)
	if len(ids) == 0 {
		return depStatus{why: fmt.Sprintf("depends on %s, which is not in the plan", ref)}
	}
	out := depStatus{met: true}
	for _, id := range ids {
		d := s.Tasks[id]
		if d.State == run.TaskParked || d.State == run.TaskCancelled {
			return depStatus{why: fmt.Sprintf("depends on %s, which is %s", id, d.State)}
		}
		out.met = out.met && d.Ended()
	}
	return out
}

type Holding struct {
	Task  string
	Files []string
}

// Held lists the write sets of every task between its dispatch and its end, retries included: a task that goes round
// again keeps what it holds, so that nobody slips in under its next attempt.
func Held(s *run.State) []Holding {
	var held []Holding
	for _, id := range s.Order {
		t := s.Tasks[id]
		if len(t.Task.Files) > 0 && !t.Ended() && t.Attempt > 0 {
			held = append(held, Holding{id, t.Task.Files})
		}
	}
	return held
}

func meets(s *run.State, t *run.Task, held []Holding) bool {
	if len(t.Task.Files) == 0 {
		return false
	}
	for _, h := range held {
		if h.Task == t.Task.ID {
			continue
		}
		if _, ok := plan.Intersect(h.Files, t.Task.Files); ok {
			return true
		}
	}
	return false
}
