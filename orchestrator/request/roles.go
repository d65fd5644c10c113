package request

import (
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// callable returns why the agent of a task cannot call a role; "" when it can.
func callable(agenda *run.Agenda, t *run.Task, name string) string {
	role := agenda.Spec.Roles[t.Task.Role]
	can := agenda.Spec.Callees(&role)
	if !slices.Contains(can, name) {
		text := fmt.Sprintf("role %q is not one that you can name; these are %s", name, strings.Join(can, ", "))
		if near := spec.Nearest(name, can); near != "" {
			text += fmt.Sprintf(" (did you mean %q?)", near)
		}
		return text
	}
	if chain := agenda.Tasks.RolesAbove(t); slices.Contains(chain, name) {
		return fmt.Sprintf("this would be a cycle: %s asks for %s", strings.Join(chain, " asks for "), name)
	}
	return ""
}
