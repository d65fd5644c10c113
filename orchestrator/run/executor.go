package run

import (
	"divisi/internal/spec"
)

// WithExecutor returns the role with the one executor of its chain that is at a place; the last executor stays for all places
// behind it. The next one takes over when the result of the one before was rejected. A conflict is no failure of the executor and
// moves nothing.
func WithExecutor(role spec.Role, at int) spec.Role {
	if len(role.Chain) == 0 {
		return role
	}
	role.Executor, role.Chain = role.Executors()[min(at, len(role.Chain))], nil
	return role
}

// ExecutorOf names the executor of a task's newest attempt where its role has a chain of them.
func (s *State) ExecutorOf(t *Task) string {
	role := s.Spec.Roles[t.Task.Role]
	if len(role.Chain) == 0 || t.Attempt == 0 {
		return ""
	}
	return WithExecutor(role, t.Executor).Executor
}
