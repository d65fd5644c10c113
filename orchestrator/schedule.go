package orchestrator

import (
	"cmp"
	"fmt"
	"slices"

	"divisi/internal/spec"
)

// Ready returns the ids of the tasks that may be dispatched now, in plan order, and the tasks that never can be, with the
// reason. It is a function of the state alone: caps, dependencies and write sets are all in it.
func (s *State) Ready() (ready []string, doomed map[string]string) {
	doomed = map[string]string{}
	room, byRole := s.AtWork()
	room = max(1, s.Spec.Parallel) - room
	held, known, turn, crowded := s.heldSets(), map[string]standing{}, s.turnTaken(), s.Waiting() >= maxWaiting
	for _, id := range s.inTurn() {
		t := s.Tasks[id]
		if t.State != TaskPending {
			continue
		}
		met, why := s.dependencies(t, known)
		if why != "" {
			doomed[id] = why
			continue
		}
		role := s.Spec.Roles[t.Task.Role]
		full := role.Concurrency > 0 && byRole[role.Name] >= role.Concurrency
		if !met || full || room <= 0 || !s.approved(t) || s.meets(t, held) || crowded && t.Parent == "" {
			continue
		}
		if t.inTheWay() {
			if turn {
				continue
			}
			turn = true
		}
		ready = append(ready, id)
		held = append(held, holding{id, t.Task.Files})
		room--
		byRole[role.Name]++
	}
	return ready, doomed
}

// maxWaiting is how many agents may wait for others before no task is begun that nobody waits for: each has a work tree.
const maxWaiting = 64

// inTurn lists the tasks in the order in which they are dispatched: first those that agents wait for, the deepest first, so that
// who waits comes to an end before others begin to; then in plan order.
func (s *State) inTurn() []string {
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

// takesTurns is after how many conflicts a task takes turns with all others that had as many.
const takesTurns = 2

// inTheWay reports whether a task has conflicted so often that it no longer runs beside its like: thirty tasks without a
// write set that all want the same line would else be made anew thirty times each, and parked before their turn came.
func (t *TaskView) inTheWay() bool {
	n := 0
	for _, f := range t.Faults {
		if f.Fault.Class == ClassConflict {
			n++
		}
	}
	return n >= takesTurns
}

// turnTaken reports whether such a task is at work.
func (s *State) turnTaken() bool {
	for _, t := range s.Tasks {
		if t.State != TaskPending && !t.Ended() && t.inTheWay() && !s.waits(t.Task.ID) {
			return true
		}
	}
	return false
}

// waits reports whether the agent of a task waits for others.
func (s *State) waits(id string) bool {
	w := s.Works[id]
	return w != nil && w.Waits()
}

// approved reports whether the task's plan was taken. A plan of readers alone writes nothing and needs nobody's word.
func (s *State) approved(t *TaskView) bool { return s.taken(t) || !s.PlanWrites(t.Plan) }

// taken reports whether somebody took the task's plan; what an agent asked for is as good as its own task.
func (s *State) taken(t *TaskView) bool {
	for t.Parent != "" {
		t = s.Tasks[t.Parent]
	}
	return s.Approved > t.Plan || s.Spec.AutoApprove || s.Plans[t.Plan].By == ByFile
}

// PlanWrites reports whether any task of the plan with the given index changes files.
func (s *State) PlanWrites(plan int) bool {
	return slices.ContainsFunc(s.Plans[plan].Tasks, func(t spec.Task) bool {
		role := s.Spec.Roles[t.Role]
		return role.ChangesFiles()
	})
}

// dependencies reports whether all of a task's dependencies are met; why is set when one of them never will be.
// known keeps what was found of templates: thousands of shards may wait for the same thousands.
func (s *State) dependencies(t *TaskView, known map[string]standing) (met bool, why string) {
	met = true
	for _, id := range t.after {
		st, ok := known[id]
		if !ok {
			st = s.standing(id)
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

// standing is how a dependency stands: over and well, or, with why set, over for good.
type standing struct {
	met bool
	why string
}

func (s *State) standing(ref string) standing {
	ids := s.members(ref)
	if len(ids) == 0 {
		return standing{why: fmt.Sprintf("depends on %s, which is not in the plan", ref)}
	}
	out := standing{met: true}
	for _, id := range ids {
		d := s.Tasks[id]
		if d.State == TaskParked || d.State == TaskCancelled {
			return standing{why: fmt.Sprintf("depends on %s, which is %s", id, d.State)}
		}
		out.met = out.met && d.Ended()
	}
	return out
}

// members are the tasks that a reference stands for: the task itself, or the shards of a template.
func (s *State) members(ref string) []string {
	if s.Tasks[ref] != nil {
		return []string{ref}
	}
	return s.Shards[ref]
}

type holding struct {
	task  string
	files []string
}

// heldSets lists the write sets of every task between its dispatch and its end, retries included: a task that goes round
// again keeps what it holds, so that nobody slips in under its next attempt.
func (s *State) heldSets() []holding {
	var held []holding
	for _, id := range s.Order {
		t := s.Tasks[id]
		if len(t.Task.Files) > 0 && !t.Ended() && t.Attempt > 0 {
			held = append(held, holding{id, t.Task.Files})
		}
	}
	return held
}

func (s *State) meets(t *TaskView, held []holding) bool {
	if len(t.Task.Files) == 0 {
		return false
	}
	for _, h := range held {
		if h.task == t.Task.ID {
			continue
		}
		if _, ok := Intersect(h.files, t.Task.Files); ok {
			return true
		}
	}
	return false
}

// Provens returns the tasks whose patches wait for the landing queue, in plan order, at most the batch limit.
func (s *State) Provens() []string {
	var ids []string
	for _, id := range s.Order {
		if s.Tasks[id].State == TaskProven {
			ids = append(ids, id)
		}
	}
	if len(ids) > s.BatchLimit {
		ids = ids[:s.BatchLimit]
	}
	return ids
}

// Quiet reports whether every task has ended and nothing is on the queue.
func (s *State) Quiet() bool {
	all, _ := s.AtWork()
	return all+s.Waiting() == 0 && s.tasksEnded()
}

func (s *State) tasksEnded() bool {
	for _, t := range s.Tasks {
		if !t.Ended() {
			return false
		}
	}
	return true
}

// Outcome returns the end that a run has earned once its final gates have run.
func (s *State) Outcome() RunState {
	if !s.allWell() {
		return RunParked
	}
	red := func(r spec.Receipt) bool { return r.Verdict == spec.VerdictFail }
	if s.masterGaveUp() != "" || s.plannedNothing() || s.landedUnverified() || slices.ContainsFunc(s.Final, red) {
		return RunParked
	}
	return RunDone
}

// landedUnverified reports whether something has landed and nothing of it is proven.
func (s *State) landedUnverified() bool { return s.Head != s.Spec.Base && s.Unverified() != "" }

// allWell reports whether no planned task was given up. What became of a task that an agent had asked for is that agent's to
// tell.
func (s *State) allWell() bool {
	for _, t := range s.Tasks {
		if t.Parent == "" && (t.State == TaskParked || t.State == TaskCancelled) {
			return false
		}
	}
	return true
}
