package orchestrator

import (
	"divisi/internal/spec"
)

// executorAt returns the place in its role's chain of executors of a task's attempt: the next one takes over when what the one
// before made was rejected. Conflicts are nobody's failure, and move nothing.
func (t *TaskView) executorAt(role *spec.Role, attempt int) int {
	at, since := 0, 0
	if h := t.lastHandover(attempt); h != nil {
		since = h.Attempt // the role begins its chain anew
	}
	for _, f := range t.Faults {
		if f.Attempt > since && f.Attempt < attempt && f.Fault.Class != ClassConflict {
			at++
		}
	}
	return min(at, len(role.Chain))
}

// carriedOutBy returns the role as one attempt of a task has it: with the one executor whose turn it is.
func carriedOutBy(role spec.Role, at int) spec.Role {
	if len(role.Chain) == 0 {
		return role
	}
	role.Executor, role.Chain = role.Executors()[at], nil
	return role
}

// executors counts the landed tasks of roles with a chain by the executor that made what landed; nil when there are none.
func (s *State) executors() map[string]int {
	var by map[string]int
	for _, id := range s.Order {
		name := s.executorOf(s.Tasks[id])
		if name == "" || s.Tasks[id].State != TaskLanded {
			continue
		}
		if by == nil {
			by = map[string]int{}
		}
		by[name]++
	}
	return by
}

// executorOf names the executor of a task's newest attempt where its role has a chain of them.
func (s *State) executorOf(t *TaskView) string {
	role := s.Spec.Roles[t.Task.Role]
	if len(role.Chain) == 0 || t.Attempt == 0 {
		return ""
	}
	return role.Executors()[t.executorAt(&role, t.Attempt)]
}
