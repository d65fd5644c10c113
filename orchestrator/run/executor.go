package run

import (
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// ExecutorAt returns the place in its role's chain of executors of a task's attempt: the next one takes over when what the one
// before made was rejected. A conflict is no failure of the executor and moves nothing.
func (t *Task) ExecutorAt(role *spec.Role, attempt int) int {
	at, since := 0, 0
	if h := t.LastHandover(attempt); h != nil {
		since = h.Attempt // the new role begins its chain
	}
	for _, f := range t.Faults {
		if f.Attempt > since && f.Attempt < attempt && f.Fault.Class != wire.FaultConflict {
			at++
		}
	}
	return min(at, len(role.Chain))
}

// WithExecutor returns the role as one attempt of a task has it: with the one executor whose turn it is.
func WithExecutor(role spec.Role, at int) spec.Role {
	if len(role.Chain) == 0 {
		return role
	}
	role.Executor, role.Chain = role.Executors()[at], nil
	return role
}

// ExecutorOf names the executor of a task's newest attempt where its role has a chain of them.
func (s *State) ExecutorOf(t *Task) string {
	role := s.Spec.Roles[t.Task.Role]
	if len(role.Chain) == 0 || t.Attempt == 0 {
		return ""
	}
	return role.Executors()[t.ExecutorAt(&role, t.Attempt)]
}
