package run

import (
	"divisi/internal/spec"
)

// GatesOf returns the names of the gates that decide about a task.
func (s *State) GatesOf(t spec.Task) []string {
	if len(t.Gates) > 0 {
		return t.Gates
	}
	return s.GateNames()
}

// GateNames are the names of the project's gates, in their order.
func (s *State) GateNames() []string {
	names := make([]string, 0, len(s.Spec.Project.Gates))
	for _, g := range s.Spec.Project.Gates {
		names = append(names, g.Name)
	}
	return names
}

// IsProven reports whether every one of the gates has a good receipt on the tree.
func (s *State) IsProven(tree string, gates []string) bool {
	return len(s.Receipts(tree, gates)) == len(gates)
}

// Receipts are the good receipts of the gates on a tree.
func (s *State) Receipts(tree string, gates []string) []spec.Receipt {
	var out []spec.Receipt
	for _, g := range gates {
		for _, r := range s.Proved[tree] {
			if r.Gate == g && r.Verdict != spec.VerdictFail {
				out = append(out, r)
				break
			}
		}
	}
	return out
}
