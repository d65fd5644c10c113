package needs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"divisi/configs"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// RoleNotes are hints about a role that are not errors: a program that is missing, limits that do nothing, a tester that judges.
func RoleNotes(p *spec.Project, r *spec.Role) []string {
	s := &run.Spec{
		Project: *p, Roles: map[string]spec.Role{r.Name: *r}, Plan: &spec.Plan{Tasks: []spec.Task{{Role: r.Name}}},
	}
	return slices.Concat(programNotices(s), uselessLimits(r), judges(r))
}

// uselessLimits names the limits of a role that hold for a model alone, where it has none.
func uselessLimits(r *spec.Role) []string {
	var names []string
	for _, l := range []struct {
		name  string
		given bool
	}{
		{"turns", r.Limits.Turns > 0},
		{"tokens", r.Limits.Tokens > 0},
		{"tool_calls", r.Limits.ToolCalls > 0},
		{"idle", r.Limits.Idle > 0},
		{"call", r.Limits.Call > 0},
		{"tool", r.Limits.Tool > 0},
	} {
		if l.given {
			names = append(names, l.name)
		}
	}
	if len(names) == 0 || r.Runs(spec.ExecutorModel) {
		return nil
	}
	return []string{fmt.Sprintf("limits: %s: they are for a model, and do nothing in role %s, which has none",
		strings.Join(names, ", "), r.Name)}
}

// judges reports a tester with an executor what it does.
func judges(r *spec.Role) []string {
	if r.Name != spec.RoleTester || r.Executor == "" {
		return nil
	}
	return []string{"role tester has an executor, so it judges each patch without a named judge, before the gates, which " +
		"run as before; to judge some tasks alone, give it another name and name it in their verify"}
}

// Replaced reports which roles of the repository a file that a person names stands in for.
func Replaced(set configs.RoleSet) []string {
	var notices []string
	for _, name := range slices.Sorted(maps.Keys(set.Repository)) {
		if role := set.Roles[name]; role.Named != "" {
			notices = append(notices, fmt.Sprintf("role %s is that of %s, in place of %s", name, role.Source,
				set.Repository[name].Source))
		}
	}
	return notices
}

// testerNotice reports the tester of a plan what it does.
func testerNotice(s *run.Spec) []string {
	role := s.Roles[spec.RoleTester]
	return judges(&role)
}
