package run

import (
	"maps"
	"slices"

	"divisi/internal/spec"
)

// Choice is a place among the choices of a role: the executors of its chain, then, where the last of them is a model, the
// stronger models of its alias.
type Choice struct {
	At int `json:"at"`
	// Uses names the executor, or the alias of the stronger model, and Why what led to it; both are empty at the beginning.
	Uses string `json:"uses,omitempty"`
	Why  string `json:"why,omitempty"`
}

// String is the choice in words; "" for the beginning of the choices.
func (p Choice) String() string {
	if p.Uses == "" {
		return ""
	}
	return p.Uses + ": " + p.Why
}

// roleOf returns the role of a task, with the model that a revision chose.
func (s *Spec) roleOf(t *Task) spec.Role {
	role := s.Roles[t.Task.Role]
	if t.Model != "" {
		role.UseModel(t.Model)
	}
	return role
}

// Choices names the places of the choices of a task's role.
func (s *Spec) Choices(t *Task) []string {
	r := s.roleOf(t)
	choices := r.Executors()
	if len(choices) > 0 && choices[len(choices)-1] == spec.ExecutorModel {
		choices = append(choices, s.Project.Stronger(r.Model)...)
	}
	return choices
}

// RoleOn returns the role of a task as the attempts at a place of its choices have it: with one executor, and one model. The last
// place stays for all places behind it.
func (s *Spec) RoleOn(t *Task, at int) spec.Role {
	role, choices := s.roleOf(t), s.Choices(t)
	if len(choices) == 0 {
		return role
	}
	at = min(at, len(choices)-1)
	executors := role.Executors()
	role.Executor, role.Chain = executors[min(at, len(executors)-1)], nil
	if at >= len(executors) {
		role.UseModel(choices[at])
	}
	return role
}

// Callees are the roles that the agents of a role can name, sorted.
func (s *Spec) Callees(role *spec.Role) []string {
	if len(role.Delegates) > 0 {
		return slices.Sorted(slices.Values(role.Delegates))
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.Roles)), func(name string) bool {
		return name == spec.RoleMaster || name == spec.RoleTester
	})
}

// Made is the role of a task's newest attempt, with the executor and the model that it had.
func (s *Spec) Made(t *Task, works Works) spec.Role {
	if works.ByPerson(t) {
		return spec.Role{Name: spec.Person, Executor: spec.Person}
	}
	return s.RoleOn(t, t.Choice.At)
}

// Spends reports whether a role uses a model, its own or that of a coding agent which prints its usage, and with it tokens.
func (s *Spec) Spends(role string) bool {
	r := s.Roles[role]
	return r.Runs(spec.ExecutorModel) || r.Usage != ""
}

// Writes reports whether any task of a plan changes files.
func (s *Spec) Writes(plan PlanData) bool {
	return slices.ContainsFunc(plan.Tasks, func(t spec.Task) bool {
		role := s.Roles[t.Role]
		return role.ChangesFiles()
	})
}
