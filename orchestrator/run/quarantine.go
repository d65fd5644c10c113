package run

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// Quarantine is a worker that a person takes for lying: what it signed behind a position of the log proves nothing, and nothing
// that it hands in counts any more.
type Quarantine struct {
	Worker string `json:"worker"`
	// Since is from when on, zero for the whole run; From is the newest position of the log before it.
	Since time.Time `json:"since,omitzero"`
	From  uint64    `json:"from,omitempty"`
	By    string    `json:"by"`
	// Alone are the tasks that have landed with no other worker's proof; Pos is where in the log it is.
	Alone []string `json:"-"`
	Pos   uint64   `json:"-"`
	// Final reports that the final gates had passed on its word; all that everything was compared with what it found.
	Final bool `json:"-"`
	all   bool
}

// signed reports whether a receipt is one that proves nothing.
func (q *Quarantine) signed(r spec.Receipt) bool { return r.Worker == q.Worker && r.Pos > q.From }

// InQuarantine lists the workers in quarantine, by name.
func (s *Branch) InQuarantine() (list []*Quarantine) {
	for _, name := range slices.Sorted(maps.Keys(s.Quarantines)) {
		list = append(list, s.Quarantines[name])
	}
	return list
}

// Suspect reports whether something has landed with the proof of a worker in quarantine alone, or the final gates had passed on
// its word, and they have not passed since.
func (s *Branch) Suspect() bool {
	return !s.proven() && slices.ContainsFunc(s.InQuarantine(), func(q *Quarantine) bool { return len(q.Alone) > 0 || q.Final })
}

// proven reports whether the final gates have passed on the head.
func (s *Branch) proven() bool {
	return len(s.Final) > 0 && !slices.ContainsFunc(s.Final, func(r spec.Receipt) bool { return r.Verdict == spec.VerdictFail })
}

// Trusts reports whether a run relies on what a worker signed behind a position of the log: a proof of what landed, a second one,
// the final gates, or what it found on the base commit.
func (s *Branch) Trusts(worker string, from uint64) bool {
	q := &Quarantine{Worker: worker, From: from}
	for i := range s.Batches.Landed {
		l := &s.Batches.Landed[i]
		second := l.Second != nil && l.Second.Worker == worker && l.Second.Pos > from
		if second || q.first(l) {
			return true
		}
	}
	baselines := []map[string]spec.Receipt{s.Proofs.Baseline}
	for _, other := range s.Proofs.Others {
		baselines = append(baselines, other.Baseline)
	}
	return slices.ContainsFunc(s.Final, q.signed) || slices.ContainsFunc(baselines, func(b map[string]spec.Receipt) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(b)), q.signed)
	})
}

// applyQuarantine takes back what a worker has proven. What of it has landed alone is proven by the final gates.
func (s *State) applyQuarantine(e *contextscope.Event, q Quarantine) {
	if had := s.Quarantines[q.Worker]; had != nil {
		q.From, q.Final, q.all = min(q.From, had.From), had.Final, had.all
	}
	q.Pos = e.Pos
	s.Quarantines[q.Worker] = &q
	clear(s.Quotas) // it may have told of some: a service tells again what is true
	if s.Crew = maps.Clone(s.Crew); s.Crew != nil {
		delete(s.Crew, q.Worker)
	}
	delete(s.Joined, q.Worker)
	all := s.Proofs.quarantine(&q)
	q.all = q.all || all
	lost := func(r spec.Receipt) bool { return all || q.signed(r) }
	for _, b := range s.Batches.Testing {
		if a := s.Works[b.Work].At(b.Attempt); a != nil && a.Result != nil && slices.ContainsFunc(a.Result.Receipts, lost) {
			s.failed(a, "it reports results of a worker in quarantine: "+q.Worker)
		}
	}
	for t := range s.Tasks.Open() {
		if t.Red != nil && len(t.Red.Failed) > 0 && len(s.Proofs.Failures[t.Red.Tree]) == 0 {
			t.Red = nil
		}
	}
	if slices.ContainsFunc(s.Final, lost) {
		s.Final, s.Batches.firstRed, s.Missing, q.Final = nil, 0, nil, true
	}
	for i := range s.Batches.Landed {
		s.distrust(&s.Batches.Landed[i], &q)
	}
	for _, had := range s.Quarantines { // what another one in quarantine has proven too is alone now
		s.alone(had)
	}
}

// alone lists what has landed without the proof of a worker that is trusted.
func (s *Branch) alone(q *Quarantine) {
	q.Alone = nil
	for i := range s.Batches.Landed {
		l := &s.Batches.Landed[i]
		if !q.all && (!q.first(l) || s.Proofs.IsProven(l.Tree, l.GateNames(), l.Old)) {
			continue
		}
		for _, t := range l.Tasks {
			if t.Commit != "" {
				q.Alone = append(q.Alone, t.Task)
			}
		}
	}
}

// first reports whether the worker has proven a batch when it landed; what it signed, it signed before that.
func (q *Quarantine) first(l *Landing) bool {
	return l.Pos > q.From && slices.Contains(l.Provers(), q.Worker)
}

// distrust notes what becomes of the second proof of a landed batch.
func (s *Branch) distrust(l *Landing, q *Quarantine) {
	second := l.Second
	if second == nil {
		return
	}
	switch {
	case q.first(l) && (second.State == SecondOpen || second.State == SecondDiffers):
		second.State = SecondOver
	case second.Worker == q.Worker && second.Pos > q.From && second.State != SecondOver:
		l.Second = &Second{}
	}
}

// quarantine forgets what a worker has signed, and what was compared with what it found on the base commit. all reports that this
// is everything: the gates run on the base commit again.
func (p *Proofs) quarantine(q *Quarantine) (all bool) {
	for environment, other := range p.Others {
		if slices.ContainsFunc(slices.Collect(maps.Values(other.Baseline)), q.signed) {
			delete(p.Others, environment)
			p.forget(func(r spec.Receipt) bool { return r.Environment == environment })
		}
	}
	maps.DeleteFunc(p.Made, func(_ string, made []spec.Receipt) bool { return slices.ContainsFunc(made, q.signed) })
	delete(p.At, q.Worker)
	all = slices.ContainsFunc(slices.Collect(maps.Values(p.Baseline)), q.signed)
	if all {
		p.Outdated, p.Distrusted = true, q.Pos
	}
	lost := func(r spec.Receipt) bool { return all || q.signed(r) }
	p.forget(lost)
	for gate := range p.Mended {
		p.Mended[gate] = slices.DeleteFunc(slices.Clone(p.Mended[gate]), lost)
	}
	return all
}

// forget drops receipts, and what failed with them.
func (p *Proofs) forget(is func(spec.Receipt) bool) {
	for tree, list := range p.Proved {
		p.Proved[tree] = slices.DeleteFunc(list, is)
	}
	for tree, list := range p.Failures {
		p.Failures[tree] = slices.DeleteFunc(list, func(f Failure) bool { return is(f.Receipt) })
	}
}

// failed replaces the result of an attempt, which does not count.
func (s *Branch) failed(a *Attempt, why string) {
	a.Result = &spec.Result{
		Task: a.Result.Task, Attempt: a.Attempt, Status: spec.StatusFailed,
		Error: &spec.Fault{Class: wire.FaultInternal, Message: why},
	}
}

// lapsed returns why nothing of a result counts: its worker is in quarantine, or its gates were compared with a baseline that is
// not trusted any more.
func (s *Branch) lapsed(e *contextscope.Event, a *Attempt, r *spec.Result) error {
	switch {
	case s.Quarantines[e.Worker] != nil:
		return fmt.Errorf("worker %.40s is in quarantine", e.Worker)
	case len(r.Receipts) > 0 && a.Pos < s.Proofs.Distrusted:
		return fmt.Errorf("it was compared with a baseline of a worker in quarantine")
	}
	return nil
}
