package run

import (
	"fmt"
	"slices"

	"divisi/contextscope"
	"divisi/internal/spec"
)

// GateTask begins the ids of the works that run a gate on the base commit which was added to the run.
const GateTask = "--gate"

// AddedGate is a gate that a person added to a run that continues.
type AddedGate struct {
	spec.Gate

	By string `json:"by,omitempty"`
	// Dropped is why it is no gate of the run any more: nothing can be compared with what it found on the base commit.
	Dropped string `json:"dropped,omitempty"`
	// Number counts the added gates from 1; Pos is where in the log it was added, or dropped.
	Number int    `json:"-"`
	Pos    uint64 `json:"-"`
}

// Work is the id of the work that runs it on the base commit.
func (g *AddedGate) Work() string { return fmt.Sprintf("%s-%d", GateTask, g.Number) }

// AddedNames are the names of the gates that were added to the run: they decide about each task.
func (s *Spec) AddedNames() (names []string) {
	for i := range s.Added {
		if s.Added[i].Dropped == "" {
			names = append(names, s.Added[i].Name)
		}
	}
	return names
}

// AddedGate is the gate of a name that was added to the run and counts; nil for none.
func (s *Spec) AddedGate(name string) *AddedGate {
	at := slices.IndexFunc(s.Added, func(g AddedGate) bool { return g.Name == name && g.Dropped == "" })
	if at < 0 {
		return nil
	}
	return &s.Added[at]
}

// GatesChanged is where in the log a gate was added or dropped last; 0 for never.
func (s *Spec) GatesChanged() (pos uint64) {
	for i := range s.Added {
		pos = max(pos, s.Added[i].Pos)
	}
	return pos
}

// NewGate is the oldest added gate that has not run on the base commit; nil for none.
func (s *State) NewGate() *AddedGate {
	for i := range s.Spec.Added {
		g := &s.Spec.Added[i]
		if _, ran := s.Proofs.Baseline[g.Name]; !ran && g.Dropped == "" {
			return g
		}
	}
	return nil
}

// applyGate folds that a gate was added, or is none any more. What other environments found on the base commit lacks it: they are
// compared again.
func (s *State) applyGate(e *contextscope.Event, d *AddedGate) {
	if d == nil {
		return
	}
	g := *d
	named := func(had spec.Gate) bool { return had.Name == g.Name }
	gates := slices.DeleteFunc(slices.Clone(s.Spec.Project.Gates), named)
	added := slices.Clone(s.Spec.Added)
	for i := range added {
		if added[i].Name == g.Name && added[i].Dropped == "" {
			added[i].Dropped, added[i].Pos = g.Dropped, e.Pos
		}
	}
	if g.Dropped == "" {
		g.Number, g.Pos = len(added)+1, e.Pos
		gates, added = append(gates, g.Gate), append(added, g)
	}
	s.Spec.Project.Gates, s.Spec.Added = gates, added
	delete(s.Proofs.Baseline, g.Name)
	s.Proofs.Others, s.Proofs.Made = map[string]Other{}, map[string][]spec.Receipt{}
}
