package run

import (
	"slices"

	"divisi/contextscope"
	"divisi/internal/spec"
)

// Later is a template that expands when what it depends on has landed. Until then it is a task that is never dispatched.
type Later struct {
	Task spec.Task `json:"task"`
	// Ceiling is the most tokens that its shards would use if it were expanded with its plan; 0 where that is not known.
	Ceiling int `json:"ceiling,omitempty"`
}

// Round is one round of a template by finding: its tasks are those of its plan.
type Round struct {
	// Number counts the rounds of the template from 1, Fixer is the place of their fixer among its ways.
	Number int `json:"number"`
	Fixer  int `json:"fixer"`
	// Tree is the tree whose findings the round has, and Left how many these are. Rest are those of them that no task can fix.
	Tree string `json:"tree"`
	Left int    `json:"left"`
	Rest int    `json:"rest,omitempty"`
	// Closed are the findings that the round before has closed, Unmasked those that it brought to light.
	Closed   int `json:"closed,omitempty"`
	Unmasked int `json:"unmasked,omitempty"`
	// Symbol is set where the one task of the round is the definition of what most findings are about.
	Symbol string `json:"symbol,omitempty"`
	// Plan is the place of its plan, Pos its position in the log.
	Plan int    `json:"-"`
	Pos  uint64 `json:"-"`
}

// IsTemplate reports whether a task is a template that expands later.
func (t *Task) IsTemplate() bool { return t.Task.Shard != nil }

// expanded reports whether a task is a template whose shards are all there: they stand for it then.
func (t *Task) expanded() bool { return t.IsTemplate() && t.State == TaskDone && !t.Task.ByFindings() }

// Waits reports whether a task is a template that has more to expand.
func (t *Task) Waits() bool { return t.IsTemplate() && !t.expanded() }

// Adds reports whether a plan has tasks, or templates for later.
func (d *PlanData) Adds() bool { return len(d.Tasks)+len(d.Later) > 0 }

// expanded folds that a template was expanded.
func (s *State) expanded(e *contextscope.Event, d PlanData) {
	switch t := s.Tasks.ByID[d.Expands]; {
	case t == nil:
	case d.Round != nil:
		r := *d.Round
		r.Plan, r.Pos = len(s.Plans.All)-1, e.Pos
		t.Rounds = append(t.Rounds, r)
	case !t.Task.ByFindings():
		s.set(t, TaskDone, e.Pos)
	}
}

// Template is the later template that a task is a shard of; nil for none.
func (l *Tasks) Template(t *Task) *Task {
	if of := l.ByID[t.Task.ShardOf]; of != nil && of.IsTemplate() {
		return of
	}
	return nil
}

// InRounds reports whether a template by finding mends one of some gates.
func (l *Tasks) InRounds(gates []string) bool {
	for t := range l.Templates() {
		if t.Task.ByFindings() && slices.Contains(gates, t.Task.Mends[0]) {
			return true
		}
	}
	return false
}

// FoundOn is the receipt of a gate with the findings of a tree: one that later patches were compared with, else that of a run on
// a head alone; nil for none.
func (s *State) FoundOn(gate, tree string) *spec.Receipt {
	known := append([]spec.Receipt{s.Proofs.Baseline[gate]}, s.Proofs.Mended[gate]...)
	if w := s.Works[HeadTask]; w != nil {
		for n := 1; n <= w.Last; n++ {
			if a := w.Attempts[n]; a != nil && a.Result != nil {
				known = append(known, a.Result.Receipts...)
			}
		}
	}
	i := slices.IndexFunc(known, func(r spec.Receipt) bool { return r.Gate == gate && r.Tree == tree })
	if i < 0 {
		return nil
	}
	return &known[i]
}

// EndOf is where in the log the newest expansion of a template is; 0 before the first.
func (p *Plans) EndOf(t *Task) uint64 {
	if n := len(t.Rounds); n > 0 {
		return t.Rounds[n-1].Pos
	}
	return 0
}

// CeilingOf is what the plan of a template said of its shards.
func (p *Plans) CeilingOf(t *Task) int {
	for _, l := range p.All[t.Plan].Later {
		if l.Task.ID == t.Task.ID {
			return l.Ceiling
		}
	}
	return 0
}

// LeftOut are files that a template matches and its shards do not have, what kind of file they are, and how many more there are.
type LeftOut struct {
	Template string   `json:"template"`
	Kind     string   `json:"kind"`
	Files    []string `json:"files"`
	More     int      `json:"more,omitempty"`
}

// Overlap is two tasks that may write the same path.
type Overlap struct {
	A    string `json:"a"`
	B    string `json:"b"`
	Path string `json:"path"`
}
