package request

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// callees are the roles that the agents of a role can name, sorted.
func callees(s *run.State, role *spec.Role) []string {
	if len(role.Delegates) > 0 {
		return slices.Sorted(slices.Values(role.Delegates))
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.Spec.Roles)), func(name string) bool {
		return name == spec.RoleMaster || name == spec.RoleTester
	})
}

// Callees are the same, described for the agent.
func Callees(s *run.State, role *spec.Role) []wire.Callee {
	var out []wire.Callee
	for _, name := range callees(s, role) {
		r := s.Spec.Roles[name]
		out = append(out, wire.Callee{Name: name, Description: r.Description, Writes: r.ChangesFiles()})
	}
	return out
}

// callable returns why the agent of a task cannot call a role; "" when it can.
func callable(s *run.State, t *run.Task, name string) string {
	role := s.Spec.Roles[t.Task.Role]
	can := callees(s, &role)
	if !slices.Contains(can, name) {
		text := fmt.Sprintf("role %q is not one that you can name; these are %s", name, strings.Join(can, ", "))
		if near := spec.Nearest(name, can); near != "" {
			text += fmt.Sprintf(" (did you mean %q?)", near)
		}
		return text
	}
	if chain := s.Tasks.RolesAbove(t); slices.Contains(chain, name) {
		return fmt.Sprintf("this would be a cycle: %s asks for %s", strings.Join(chain, " asks for "), name)
	}
	return ""
}
