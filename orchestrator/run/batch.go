package run

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"divisi/contextscope"
	"divisi/internal/spec"
)

// Batches are those that were made of the landing queue.
type Batches struct {
	// Testing are those that are tested, Landed those that have landed, oldest first. Count counts all so far, GateRuns the
	// results of gates on them and on the final head.
	Testing         []*Batch
	Landed          []Landing
	Count, GateRuns int
	// Passage is the open passage; nil for none.
	Passage *Passage
	// Reruns counts the results of gates that prove a landed batch a second time.
	Reruns int
	// Limit is how many tasks the next batch may hold; 0 while no batch has told.
	Limit int
	// Gone are, by gate, the objects with the tests of the base commit that landed patches took away.
	Gone map[string]string
	// firstRed is the number of the first landed one that made final gates red.
	firstRed int
}

// Batch is a batch that is being tested: a chain of commits on Old, one for each task, up to Head. Work and Attempt name its
// newest gate run, Tries counts them.
type Batch struct {
	Number          int
	Old, Head, Tree string
	Set             string
	Tasks           []Landed
	Gates, Mends    []string
	Through         []string
	Work            string
	Attempt, Tries  int
	// Until is when it is tested again after an outage, zero while it does not wait; Waited is how long it does in all.
	Until  time.Time
	Waited time.Duration
}

// Landing is a batch that is on the integration branch: the commit that it was built on, its newest commit, the tree of that, and
// its tasks. By are the workers whose receipts let it land, by gate. Second is its second proof, nil where it gets none; Pos is
// where in the log it landed, and At when on the run's clock.
type Landing struct {
	Batch           int
	Old, Head, Tree string
	Tasks           []Landed
	By              map[string]string
	Second          *Second
	Pos             uint64
	At              time.Duration
}

// Provers are the workers whose receipts let it land.
func (l *Landing) Provers() []string { return slices.Compact(slices.Sorted(maps.Values(l.By))) }

// Names lists the tasks of a batch.
func Names(tasks []Landed) []string {
	names := make([]string, len(tasks))
	for i, t := range tasks {
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

// Free is how many more batches may be tested at the same time, of some permits. One whose gates have ended and that waits for
// another holds none.
func (b *Batches) Free(permits int, works Works) int {
	free := max(1, permits)
	for _, one := range b.Testing {
		if works.Tested(one) == nil {
			free--
		}
	}
	return free
}

// FirstRed returns the first landed batch after which a final gate is red; nil for none.
func (b *Batches) FirstRed() *Landing {
	i := slices.IndexFunc(b.Landed, func(l Landing) bool { return l.Batch == b.firstRed })
	if i < 0 {
		return nil
	}
	return &b.Landed[i]
}

func (s *State) applyLanding(e *contextscope.Event, d LandingData) {
	s.Times.own(s.Times.Clock(e.Time), d.Own)
	s.dispatched(e, d.Dispatch)
	s.Batches.Count = max(s.Batches.Count, d.Batch)
	s.Batches.Limit = cmp.Or(d.Limit, s.Batches.Limit)
	switch d.State {
	case LandingTesting:
		s.Batches.test(d, s.Works)
		s.setTasks(d.Tasks, TaskLanding, e.Pos)
	case LandingLanded:
		s.Head = d.Head
		s.Batches.close(d.Batch)
		s.land(d, e)
	case LandingLed:
		s.lead(d, e.Pos)
		s.Batches.close(d.Batch)
		s.land(d, e)
	case LandingSealed:
		s.seal(d, e)
	case LandingSplit, LandingDropped:
		s.Works.void(fmt.Sprintf("%s-%d", BatchTask, d.Batch))
		s.Batches.close(d.Batch)
		s.setTasks(d.Tasks, TaskAccepted, e.Pos)
		s.Tasks.putBack(d)
		s.Tasks.part(d.Parts)
		s.Tasks.suspect(d, len(s.Proofs.Failures[d.Tree]) > 0)
	}
}

// test notes a batch whose gates were dispatched.
func (b *Batches) test(d LandingData, works Works) {
	for _, one := range b.Testing {
		if one.Number == d.Batch {
			one.Tries, one.Work, one.Attempt = one.Tries+1, d.Dispatch.Task, d.Dispatch.Attempt
			one.Until = time.Time{}
			return
		}
	}
	one := &Batch{
		Number: d.Batch, Old: d.Old, Head: d.Head, Tree: d.Tree, Set: d.Set, Tasks: d.Tasks, Gates: d.Dispatch.Gates, Tries: 1,
		Mends: d.Mends, Through: d.Through,
		Work: d.Dispatch.Task, Attempt: d.Dispatch.Attempt,
	}
	b.Testing, works[one.Work].Batch = append(b.Testing, one), one
}

func (b *Batches) close(number int) {
	b.Testing = slices.DeleteFunc(b.Testing, func(one *Batch) bool { return one.Number == number })
}

func (s *State) setTasks(tasks []Landed, to TaskState, pos uint64) {
	for _, l := range tasks {
		if t := s.Tasks.ByID[l.Task]; t != nil {
			s.set(t, to, pos)
		}
	}
}

// putBack notes why the patches of a batch that was dropped will be unverified.
func (l *Tasks) putBack(d LandingData) {
	for _, of := range d.Tasks {
		if t := l.ByID[of.Task]; t != nil && d.State == LandingDropped {
			t.Dropped = of
		}
	}
}

// part notes which tasks are tested together. The parts of the newest split come first.
func (l *Tasks) part(parts [][]string) {
	l.parts += len(parts)
	for i, ids := range parts {
		for _, id := range ids {
			if t := l.ByID[id]; t != nil {
				t.Part = i - l.parts
			}
		}
	}
}

// suspect notes what a batch that failed reports its patches. A part that is known to fail is split without a test.
func (l *Tasks) suspect(d LandingData, failed bool) {
	if d.Search == nil {
		return
	}
	each := func(ids []string, do func(*Suspected)) {
		for _, id := range ids {
			if t := l.ByID[id]; t != nil {
				do(&t.Suspected)
			}
		}
	}
	for _, part := range d.Parts {
		each(part, func(t *Suspected) { t.Out, t.Right = false, false })
	}
	for t := range l.In(TaskAccepted) {
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

func (s *State) land(d LandingData, e *contextscope.Event) {
	for i, l := range d.Tasks {
		if t := s.Tasks.ByID[l.Task]; t != nil {
			l.Unread = UnreadIn(d.Receipts, t.Changes())
			d.Tasks[i] = l
			t.Commit, t.Landed, t.Part, t.Suspected = l.Commit, l, 0, Suspected{}
			t.LandedAt = e.Time
			s.set(t, endOf(l), e.Pos)
			s.Tasks.drops(t, e.Pos)
		}
	}
	maps.Copy(s.Batches.Gone, d.Gone)
	l := Landing{Batch: d.Batch, Old: d.Old, Head: d.Head, Tree: d.Tree, Tasks: d.Tasks, By: map[string]string{}, Pos: e.Pos}
	l.At = s.Times.Clock(e.Time)
	s.Times.Moved = l.At
	for _, r := range d.Receipts {
		r.Pos = e.Pos
		if s.Proofs.landed(r); r.Verdict == spec.VerdictFail {
			continue // red as it was before
		}
		l.By[r.Gate] = r.Worker
		s.Proofs.prove(r)
	}
	s.mend(d, e.Pos)
	if s.Batches.Passage == nil {
		l.Second = s.again(&l, e.ID)
	}
	s.Batches.keep(l)
}

// at is the batch that landed with a commit; nil for other commits, the base commit among them.
func (b *Batches) at(head string) *Landing {
	for l := range b.All() {
		if l.Head == head {
			return l
		}
	}
	return nil
}

// ProversOf are the workers that have proven the batch which landed with a commit; none for the base commit.
func (b *Batches) ProversOf(head string) []string {
	if l := b.at(head); l != nil {
		return l.Provers()
	}
	return nil
}

// endOf is the state of a task that has landed.
func endOf(l Landed) TaskState {
	if l.Commit == "" {
		return TaskDone
	}
	return TaskLanded
}

// Search is the state of the search among the tasks of a failed batch.
type Search struct {
	// Named are those that a failure leads to, and to no other one.
	Named []string `json:"named,omitempty"`
	// Out are the tasks of a part that fails if the one before it does not. Right are taken for right: a failure leads elsewhere,
	// or a batch failed without them.
	Out   []string `json:"out,omitempty"`
	Right []string `json:"right,omitempty"`
	// Odds are how likely each task is the wrong one, where that was weighed; they sum up to 1.
	Odds map[string]float64 `json:"odds,omitempty"`
}

// check returns the error for data that the fold cannot take.
func (d LandingData) check() error {
	if d.State == LandingTesting && d.Dispatch == nil {
		return errors.New("a batch under test has no dispatch")
	}
	return nil
}

// Landed is one task's commit on the integration branch. Commit is empty for a task of a change set that changed nothing.
type Landed struct {
	Task    string `json:"task"`
	Attempt int    `json:"attempt"`
	Commit  string `json:"commit,omitempty"`
	Added   int    `json:"added,omitempty"`
	Deleted int    `json:"deleted,omitempty"`
	Files   int    `json:"files,omitempty"`
	// Better lists the remaining failures of the gates that it mends; empty where they are green.
	Better string `json:"better,omitempty"`
	// Unverified is why it is not proven; empty when it is.
	Unverified string `json:"unverified,omitempty"`
	// Unread are the files of it that no gate has read as their kind needs, as the receipts tell with which it landed.
	Unread []spec.Unread `json:"-"`
}

// HeadTask is the work that runs gates without the patch that they are red with: on the integration head, and on the base commit.
const HeadTask = "--head"

// Outage is a wait: gates are red without the patch of a batch too, on a tree that they had passed.
type Outage struct {
	Batch int           `json:"batch"`
	Wait  time.Duration `json:"wait_ns"`
}

// applyProven folds what is known of batches, and of the head that they are built on.
func (s *Branch) applyProven(d Data, at time.Time) {
	if d.Reproved != nil {
		s.applyReproved(d.Reproved)
	}
	maps.Copy(s.Proofs.Known, d.Known)
	s.Batches.await(d.Outage, at)
}

// await notes how long a batch waits, from a time of the conductor on.
func (b *Batches) await(o *Outage, at time.Time) {
	if o == nil {
		return
	}
	for _, one := range b.Testing {
		if one.Number == o.Batch {
			one.Until, one.Waited = at.Add(o.Wait), one.Waited+o.Wait
		}
	}
}

// KnownRed is the result of a gate on the integration head, where that is red because of landed changes; nil for nothing, and in
// another environment than that of a receipt.
func (p *Proofs) KnownRed(r spec.Receipt) *spec.Receipt {
	if known, red := p.Known[r.Gate]; red && known.Environment == r.Environment {
		return &known
	}
	return nil
}

// landed keeps what gates in full found on a tree that landed: it is known of what comes next.
func (p *Proofs) landed(r spec.Receipt) {
	switch _, known := p.Known[r.Gate]; {
	case !known || r.Since != "":
	case r.Verdict == spec.VerdictFail:
		p.Known[r.Gate] = r
	default:
		delete(p.Known, r.Gate)
	}
}

// TreeOf is the tree of a landed head in which a gate ran; of the base commit that of its baseline.
func (s *Branch) TreeOf(head, gate string) string {
	if l := s.Batches.at(head); l != nil {
		return l.Tree
	}
	return s.Proofs.Baseline[gate].Tree
}

// HeadRuns are the runs of gates without a patch, on a commit, that were dispatched behind a position of the log, oldest first.
func (w Works) HeadRuns(head string, pos uint64) (runs []*Attempt) {
	for n := 1; w[HeadTask] != nil && n <= w[HeadTask].Last; n++ {
		if a := w[HeadTask].Attempts[n]; a != nil && a.Head == head && a.Pos > pos {
			runs = append(runs, a)
		}
	}
	return slices.Clip(runs)
}
