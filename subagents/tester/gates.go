package tester

import (
	"slices"

	"divisi/internal/spec"
	"divisi/subagents/gate"
	"divisi/subagents/wire"
)

// GatesOf returns the gates that a task names, all of the project's where it names none, and the names that are unknown. What
// makes derived files again always runs first.
func GatesOf(a *wire.Assignment) (gates []spec.Gate, unknown []string) {
	if len(a.Task.Gates) == 0 {
		return a.Project.Gates, nil
	}
	names := a.Task.Gates
	if len(a.Project.Regenerate) > 0 && !slices.Contains(names, spec.RegenerateGate) {
		names = slices.Insert(slices.Clone(names), 0, spec.RegenerateGate)
	}
	for _, name := range names {
		if name == spec.MutantsGate {
			gates = append(gates, spec.Gate{Name: name, Command: []string{"go", "test"}, Format: gate.FormatGoTest})
			continue
		}
		i := slices.IndexFunc(a.Project.Gates, func(g spec.Gate) bool { return g.Name == name })
		if i < 0 {
			unknown = append(unknown, name)
			continue
		}
		gates = append(gates, a.Project.Gates[i])
	}
	return gates, unknown
}
