package schedule

import (
	"strings"

	"divisi/orchestrator/run"
)

// outside returns what hinders a task that changes files and is no part of the open passage: nothing else lands meanwhile.
func (x *turns) outside(t *run.Task) hindrance {
	p, role := x.Batches.Passage, x.Spec.Roles[t.Task.Role]
	if p == nil || !role.ChangesFiles() {
		return hindrance{}
	}
	if x.passing == nil {
		x.passing = x.Passing()
	}
	if x.passing[t] {
		return hindrance{}
	}
	return hindrance{by: passage, what: strings.Join(p.Gates, ", ")}
}
