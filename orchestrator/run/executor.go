package run

import (
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// Rung is a place on a role's ladder: the executors of its chain, then, where the last of them is a model, the stronger models
// of its alias.
type Rung struct {
	At int `json:"at"`
	// Uses names the executor, or the alias of the stronger model, and Why what led to it; both are empty at the beginning.
	Uses string `json:"uses,omitempty"`
	Why  string `json:"why,omitempty"`
}

// String is the rung in words; "" for the beginning of the ladder.
func (p Rung) String() string {
	if p.Uses == "" {
		return ""
	}
	return p.Uses + ": " + p.Why
}

// roleOf returns the role of a task, with the model that a revision chose.
func (s *State) roleOf(t *Task) spec.Role {
	role := s.Spec.Roles[t.Task.Role]
	if t.Model != "" {
		role.UseModel(t.Model)
	}
	return role
}

// Ladder names the places of the ladder of a task's role.
func (s *State) Ladder(t *Task) []string {
	r := s.roleOf(t)
	ladder := r.Executors()
	if len(ladder) > 0 && ladder[len(ladder)-1] == spec.ExecutorModel {
		ladder = append(ladder, s.Spec.Project.Stronger(r.Model)...)
	}
	return ladder
}

// RoleOn returns the role of a task as the attempts at a place of its ladder have it: with one executor, and one model. The last
// place stays for all places behind it.
func (s *State) RoleOn(t *Task, at int) spec.Role {
	role, ladder := s.roleOf(t), s.Ladder(t)
	if len(ladder) == 0 {
		return role
	}
	at = min(at, len(ladder)-1)
	executors := role.Executors()
	role.Executor, role.Chain = executors[min(at, len(executors)-1)], nil
	if at >= len(executors) {
		role.UseModel(ladder[at])
	}
	return role
}

// Made is the role of a task's newest attempt, with the executor and the model that it had.
func (s *State) Made(t *Task) spec.Role { return s.RoleOn(t, t.Rung.At) }

// ExecutorOf names the executor of a task's newest attempt where its role has a chain of them.
func (s *State) ExecutorOf(t *Task) string {
	if len(s.Spec.Roles[t.Task.Role].Chain) == 0 || t.Attempt == 0 {
		return ""
	}
	return s.Made(t).Executor
}

// stepOn folds which place of the ladder the next attempt of a task has, after a failure. Older logs name none: each failure but
// a conflict moved to the next executor.
func (s *State) stepOn(t *Task, d TaskData) {
	chain := s.Spec.Roles[t.Task.Role].Chain
	switch {
	case d.Rung != nil:
		t.Next = *d.Rung
	case d.Fault.Class != wire.FaultConflict && t.Next.At < len(chain):
		t.Next = Rung{At: t.Next.At + 1, Uses: chain[t.Next.At], Why: "the executor before it failed"}
	}
}
