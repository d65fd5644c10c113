package run

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"divisi/contextscope"
	"divisi/internal/spec"
)

// Batch is a batch that is being tested: a chain of commits on Old, one for each task, up to Head. Work and Attempt name its
// newest gate run, Tries counts them.
type Batch struct {
	Number          int
	Old, Head, Tree string
	Set             string
	Tasks           []Landed
	Gates           []string
	Work            string
	Attempt, Tries  int
}

// Landing is a batch that is on the integration branch: its newest commit, the tree of that, and its tasks.
type Landing struct {
	Batch      int
	Head, Tree string
	Tasks      []Landed
}

// Names lists its tasks.
func (l *Landing) Names() []string {
	names := make([]string, len(l.Tasks))
	for i, t := range l.Tasks {
		names[i] = t.Task
	}
	return names
}

// Tested returns the result of a batch's newest gate run; nil while it is outstanding.
func (w Works) Tested(b *Batch) *spec.Result {
	if a := w[b.Work].Attempts[b.Attempt]; a != nil {
		return a.Result
	}
	return nil
}

// FreePermits is how many more batches may be tested at the same time. One whose gates have ended and that waits for another
// holds no permit.
func (s *State) FreePermits() int {
	free := max(1, s.Spec.Project.GatePermits)
	for _, b := range s.Batches {
		if s.Works.Tested(b) == nil {
			free--
		}
	}
	return free
}

// FirstRed returns the first landed batch after which a final gate is red; nil for none.
func (s *State) FirstRed() *Landing {
	i := slices.IndexFunc(s.Landings, func(l Landing) bool { return l.Batch == s.firstRed })
	if i < 0 {
		return nil
	}
	return &s.Landings[i]
}

func (s *State) applyLanding(e *contextscope.Event, d LandingData) {
	s.dispatched(e, d.Dispatch)
	s.BatchCount = max(s.BatchCount, d.Batch)
	s.BatchLimit = cmp.Or(d.Limit, s.BatchLimit)
	switch d.State {
	case LandingTesting:
		s.test(d)
		s.setTasks(d.Tasks, TaskLanding, e.Pos)
	case LandingLanded:
		s.Head = d.Head
		s.close(d.Batch)
		s.land(d, e.Pos)
	case LandingSplit, LandingDropped:
		s.Works.void(fmt.Sprintf("%s-%d", BatchTask, d.Batch))
		s.close(d.Batch)
		s.setTasks(d.Tasks, TaskAccepted, e.Pos)
		s.part(d.Parts)
		s.suspect(d)
	}
}

// test notes a batch whose gates were dispatched.
func (s *State) test(d LandingData) {
	for _, b := range s.Batches {
		if b.Number == d.Batch {
			b.Tries, b.Work, b.Attempt = b.Tries+1, d.Dispatch.Task, d.Dispatch.Attempt
			return
		}
	}
	b := &Batch{
		Number: d.Batch, Old: d.Old, Head: d.Head, Tree: d.Tree, Set: d.Set, Tasks: d.Tasks, Gates: d.Dispatch.Gates, Tries: 1,
		Work: d.Dispatch.Task, Attempt: d.Dispatch.Attempt,
	}
	s.Batches, s.Works[b.Work].Batch = append(s.Batches, b), b
}

func (s *State) close(number int) {
	s.Batches = slices.DeleteFunc(s.Batches, func(b *Batch) bool { return b.Number == number })
}

func (s *State) setTasks(tasks []Landed, to TaskState, pos uint64) {
	for _, l := range tasks {
		if t := s.Tasks[l.Task]; t != nil {
			s.set(t, to, pos)
		}
	}
}

// part notes which tasks are tested together. The parts of the newest split come first.
func (s *State) part(parts [][]string) {
	s.parts += len(parts)
	for i, ids := range parts {
		for _, id := range ids {
			if t := s.Tasks[id]; t != nil {
				t.Part = i - s.parts
			}
		}
	}
}

// suspect notes what a batch that failed tells of its patches.
func (s *State) suspect(d LandingData) {
	if d.Search == nil {
		return
	}
	each := func(ids []string, do func(*Suspected)) {
		for _, id := range ids {
			if t := s.Tasks[id]; t != nil {
				do(&t.Suspected)
			}
		}
	}
	failed := len(s.Failures[d.Tree]) > 0 // a part that is known to fail is cut without a test
	for _, part := range d.Parts {
		each(part, func(t *Suspected) { t.Out, t.Right = false, false })
	}
	for t := range s.In(TaskAccepted) {
		if t.Part != 0 && t.Suspected.Tree != "" && failed {
			t.Suspected.Without = append(t.Suspected.Without, d.Tree)
		}
	}
	each(d.Search.Out, func(t *Suspected) { t.Out = true })
	each(d.Search.Right, func(t *Suspected) { t.Right, t.Refuted = true, t.Refuted || t.Tree != "" && t.Tree != d.Tree })
	if failed {
		each(slices.Concat(d.Search.Named, d.Search.Out), func(t *Suspected) { t.Tree, t.Without = d.Tree, nil })
	}
	for id, odds := range d.Search.Odds {
		each([]string{id}, func(t *Suspected) { t.Odds = odds })
	}
}

func (s *State) land(d LandingData, pos uint64) {
	for _, l := range d.Tasks {
		if t := s.Tasks[l.Task]; t != nil {
			t.Commit, t.Landed, t.Part, t.Suspected = l.Commit, l, 0, Suspected{}
			s.set(t, endOf(l), pos)
		}
	}
	maps.Copy(s.Gone, d.Gone)
	s.Landings = append(s.Landings, Landing{Batch: d.Batch, Head: d.Head, Tree: d.Tree, Tasks: d.Tasks})
	for _, r := range d.Receipts {
		s.prove(r)
	}
}

// endOf is the state of a task that has landed.
func endOf(l Landed) TaskState {
	if l.Commit == "" {
		return TaskDone
	}
	return TaskLanded
}

// prove keeps a gate's receipt under the tree that it ran on, so that nothing is proven twice. A narrowed one stays beside that
// of a full run.
func (s *State) prove(r spec.Receipt) {
	for _, had := range s.Proved[r.Tree] {
		if had.Gate == r.Gate && had.Since == r.Since {
			return
		}
	}
	s.Proved[r.Tree] = append(s.Proved[r.Tree], r)
}
