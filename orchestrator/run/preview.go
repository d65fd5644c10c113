package run

import (
	"maps"
	"slices"

	"divisi/internal/spec"
)

// Preview is a plan as a dry run shows it: with the roles of its tasks and of their judges, without instructions.
type Preview struct {
	PlanData
	Roles map[string]spec.Role `json:"roles,omitempty"`
}

// PreviewOf adds to a plan the roles that do and judge its tasks.
func PreviewOf(plan PlanData, roles map[string]spec.Role) Preview {
	p := Preview{PlanData: plan, Roles: maps.Clone(roles)}
	named := map[string]bool{}
	for i := range plan.Tasks {
		t := &plan.Tasks[i]
		named[t.Role], named[p.Judge(t)] = true, true
	}
	maps.DeleteFunc(p.Roles, func(name string, _ spec.Role) bool { return !named[name] })
	for name, role := range p.Roles {
		role.Instruction = ""
		p.Roles[name] = role
	}
	return p
}

// Writes reports whether the work tree of a task becomes a patch: that of a command whose role says that it writes nothing does
// not.
func (p *Preview) Writes(t *spec.Task) bool {
	role := p.Roles[t.Role]
	return role.Writes || slices.ContainsFunc(role.Tools, spec.WritingTool)
}

// Judge is the role that judges the patch of a task; "" for none, and for a task whose role changes nothing.
func (p *Preview) Judge(t *spec.Task) string {
	if !p.Writes(t) {
		return ""
	}
	return t.Judge(p.Roles[t.Role], p.Roles, len(t.Constraints) > 0)
}
