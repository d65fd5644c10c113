package run

import (
	"iter"
	"slices"

	"divisi/contextscope"
	"divisi/internal/spec"
)

// Passage is the part of a run in which some gates may be red. What lands in it is a chain of commits on the integration head,
// which stays where it is: the chain becomes one merge commit of the branch when the gates are green on it.
type Passage struct {
	Gates []string
	// Head is the newest commit of the chain, Landed its batches.
	Head   string
	Landed []Landing
	// Since is where in the log it began.
	Since uint64
}

// has reports whether a task leads through a gate of the passage, or mends one.
func (p *Passage) has(t *Task) bool {
	return slices.ContainsFunc(p.Gates, func(gate string) bool {
		return slices.Contains(t.Task.Through, gate) || slices.Contains(t.Task.Mends, gate)
	})
}

// Passing are the open tasks of the open passage: those that lead through one of its gates or mend one, and what these wait for.
func (s *State) Passing() map[*Task]bool {
	p, in := s.Batches.Passage, map[*Task]bool{}
	if p == nil {
		return in
	}
	var list []*Task
	add := func(t *Task) {
		if t != nil && !t.Ended() && !in[t] {
			in[t], list = true, append(list, t)
		}
	}
	for t := range s.Tasks.Open() {
		if p.has(t) {
			add(t)
		}
	}
	for len(list) > 0 {
		t := list[0]
		list = list[1:]
		for _, ref := range t.After {
			for _, id := range s.Tasks.Members(ref) {
				add(s.Tasks.ByID[id])
			}
		}
	}
	return in
}

// Tip is the commit that tasks start from and that batches are built on: the newest of the passage, else the integration head.
func (s *Branch) Tip() string {
	if p := s.Batches.Passage; p != nil {
		return p.Head
	}
	return s.Head
}

// ToSeal reports whether a passage may end: nothing is tested, no template has findings of its gates to fix, and each gate has
// passed in full on the tree of its last batch, where it has not failed since.
func (s *State) ToSeal() bool {
	p := s.Batches.Passage
	if p == nil || len(s.Batches.Testing) > 0 || s.Works[HeadTask].Outstanding() {
		return false
	}
	for t := range s.Tasks.Templates() {
		if t.Task.ByFindings() && !t.Ended() && p.has(t) {
			return false
		}
	}
	return !slices.ContainsFunc(p.Gates, func(gate string) bool { return !s.passed(p.tree(), gate) })
}

// passed reports whether the newest run of a gate in full on a tree that counts is green.
func (s *Branch) passed(tree, gate string) bool {
	var at uint64
	green := slices.ContainsFunc(s.Proofs.good(tree, gate, ""), func(r spec.Receipt) bool {
		at = max(at, r.Pos)
		return r.Verdict == spec.VerdictPass && s.Quarantines[r.Worker] == nil
	})
	return green && !slices.ContainsFunc(s.Proofs.Failures[tree], func(f Failure) bool {
		return f.Receipt.Gate == gate && f.Receipt.Since == "" && f.Receipt.Pos > at && s.Proofs.comparable(f.Receipt)
	})
}

// tree is that of the newest commit.
func (p *Passage) tree() string { return p.Landed[len(p.Landed)-1].Tree }

// Unknown lists the gates of a passage without a result on its newest commit that still counts: a worker may be in quarantine,
// or the environment another one.
func (s *Branch) Unknown() (gates []string) {
	p := s.Batches.Passage
	if p == nil || len(s.Batches.Testing) > 0 {
		return nil
	}
	for _, gate := range p.Gates {
		if len(s.Proofs.good(p.tree(), gate, ""))+len(s.Proofs.Failed(p.tree(), []string{gate}, "")) == 0 {
			gates = append(gates, gate)
		}
	}
	return gates
}

// Halts reports whether a passage is open and neither a task nor a gate run is left that could end it.
func (s *State) Halts() bool {
	p := s.Batches.Passage
	return p != nil && len(s.Batches.Testing) == 0 && !s.Works[HeadTask].Outstanding() && !s.ToSeal() && len(s.Passing()) == 0
}

// Stuck reports whether a passage halts for good: nothing plans more tasks. A master has had a turn since.
func (s *State) Stuck() bool {
	if !s.Halts() {
		return false
	}
	w := s.Works[MasterTask]
	asked := w != nil && !w.Outstanding() && s.Master.Woken >= w.Last && w.Attempts[w.Last].Pos > s.Batches.Passage.moved()
	return s.Spec.Plan != nil || s.Master.Done || s.Master.GaveUp() != "" || asked
}

// moved is where in the log its newest batch landed.
func (p *Passage) moved() uint64 { return p.Landed[len(p.Landed)-1].Pos }

// Green is the position of the log to which receipts belong to the branch, and not to a passage that has not ended; 0 for all.
func (b *Batches) Green() uint64 {
	if b.Passage == nil {
		return 0
	}
	return b.Passage.Since - 1
}

// lead moves the passage, which the first batch opens.
func (s *Branch) lead(d LandingData, pos uint64) {
	if s.Batches.Passage == nil {
		s.Batches.Passage = &Passage{Since: pos}
	}
	p := s.Batches.Passage
	p.Head, p.Gates = d.Head, append(slices.Clip(p.Gates), d.Through...)
	slices.Sort(p.Gates)
	p.Gates = slices.Compact(p.Gates)
}

// All yields the batches of the branch, and behind them those of the open passage.
func (b *Batches) All() iter.Seq[*Landing] {
	return func(yield func(*Landing) bool) {
		for i := range b.Landed {
			if !yield(&b.Landed[i]) {
				return
			}
		}
		if b.Passage == nil {
			return
		}
		for i := range b.Passage.Landed {
			if !yield(&b.Passage.Landed[i]) {
				return
			}
		}
	}
}

// keep adds a batch that has landed to the passage, or to the branch.
func (b *Batches) keep(l Landing) {
	if b.Passage != nil {
		b.Passage.Landed = append(b.Passage.Landed, l)
		return
	}
	b.Landed = append(b.Landed, l)
}

// seal folds that a passage is one merge commit of the branch. Its tree is the one that its last batch was proven on.
func (s *State) seal(d LandingData, e *contextscope.Event) {
	p := s.Batches.Passage
	if p == nil {
		return
	}
	last := p.Landed[len(p.Landed)-1]
	l := Landing{Batch: d.Batch, Old: d.Old, Head: d.Head, Tree: d.Tree, Tasks: d.Tasks, By: last.By, Pos: e.Pos}
	l.At = s.Times.Clock(e.Time)
	s.Times.Moved = l.At
	l.Second = s.again(&l, e.ID)
	s.Head, s.Batches.Passage = d.Head, nil
	s.Batches.keep(l)
}
