package run

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	for l := range s.Batches.All() {
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
	clear(s.Limits) // it may have told of some: a service tells again what is true
	clear(s.Quotas)
	s.Crew = maps.Clone(s.Crew)
	delete(s.Crew, q.Worker)
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
		if t.Red != nil && len(t.Red.Failed) > 0 && len(s.Proofs.Failures[t.Red.Tree]) == 0 && !s.Proofs.kills(t.Red) {
			t.Red = nil
		}
	}
	if slices.ContainsFunc(s.Final, lost) {
		s.Final, s.Batches.firstRed, s.Missing, q.Final = nil, 0, nil, true
	}
	for l := range s.Batches.All() {
		s.distrust(l, &q)
	}
	for _, had := range s.Quarantines { // what another one in quarantine has proven too is alone now
		s.alone(had)
	}
}

// alone lists what has landed without the proof of a worker that is trusted.
func (s *Branch) alone(q *Quarantine) {
	q.Alone = nil
	for l := range s.Batches.All() {
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

// kills reports whether tests have found mutants, and that still counts.
func (p *Proofs) kills(r *Red) bool { return len(p.good(r.Tree, spec.MutantsGate, r.Since)) > 0 }

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

// ReproveTask begins the ids of the works that prove a landed batch a second time.
const ReproveTask = "--reprove"

// Second is the second proof of a landed batch, by another worker than the first.
type Second struct {
	State SecondState
	// Worker is the one that gave it, Fault what failed there. Pos is where in the log it is.
	Worker string
	Fault  spec.Fault
	Pos    uint64
}

// SecondState is the outcome of a second proof.
type SecondState string

// It is to come; passed; failed, and a person decides; the person trusts the first proof; no other worker could give it; it is
// not needed, since the first proof does not count any more.
const (
	SecondOpen    SecondState = ""
	SecondPassed  SecondState = "passed"
	SecondDiffers SecondState = "differs"
	SecondTrusted SecondState = "trusted"
	SecondNone    SecondState = "none"
	SecondOver    SecondState = "over"
)

// Reproved ends a second proof that no gates end.
type Reproved struct {
	Batch int         `json:"batch"`
	State SecondState `json:"state"`
}

// ReproveID is the work that proves a batch a second time.
func (l *Landing) ReproveID() string { return fmt.Sprintf("%s-%d", ReproveTask, l.Batch) }

// GateNames are the gates that proved it, sorted.
func (l *Landing) GateNames() []string { return slices.Sorted(maps.Keys(l.By)) }

// again chooses whether a batch that lands is proven a second time. The id of the event with which it lands is not known to the
// worker before it has signed.
func (s *State) again(l *Landing, event string) *Second {
	if s.Crew == nil || len(l.By) == 0 {
		return nil
	}
	sum := sha256.Sum256([]byte(s.Spec.Run + " " + l.Tree + " " + event))
	if float64(binary.BigEndian.Uint64(sum[:8]))/(1<<64) >= s.Spec.Reprove/100 {
		return nil
	}
	return &Second{}
}

// Seconds are the landed batches that are proven a second time, oldest first.
func (b *Batches) Seconds() (list []*Landing) {
	for i := range b.Landed {
		if b.Landed[i].Second != nil {
			list = append(list, &b.Landed[i])
		}
	}
	return list
}

// Reproving reports whether second proofs are to come, or to be decided about.
func (b *Batches) Reproving() bool {
	return slices.ContainsFunc(b.Seconds(), func(l *Landing) bool {
		return l.Second.State == SecondOpen || l.Second.State == SecondDiffers
	})
}

// reproven is the batch that a work proves a second time; nil for none.
func (b *Batches) reproven(work string) *Landing {
	if !strings.HasPrefix(work, ReproveTask) {
		return nil
	}
	for _, l := range b.Seconds() {
		if l.ReproveID() == work {
			return l
		}
	}
	return nil
}

// ReprovenAt is where in the log the batch landed that a work proves a second time; 0 for any other work.
func (b *Batches) ReprovenAt(work string) uint64 {
	if l := b.reproven(work); l != nil {
		return l.Pos
	}
	return 0
}

// reprove folds the result of a second proof. One without a verdict of each gate leaves it open.
func (s *Branch) reprove(e *contextscope.Event, r spec.Result) {
	l := s.Batches.reproven(e.Task)
	if l == nil || len(r.Receipts) == 0 {
		return
	}
	s.Batches.Reruns++
	if l.Second.State != SecondOpen {
		return
	}
	found, killed, failed := map[string]bool{}, false, false
	for _, rc := range r.Receipts {
		if l.By[rc.Gate] == "" || !holds(rc, l.Old) {
			continue
		}
		red := rc.Verdict == spec.VerdictFail
		found[rc.Gate], killed, failed = true, killed || red && rc.Killed, failed || red && !rc.Killed
	}
	second := Second{Worker: e.Worker, Pos: e.Pos}
	switch {
	case failed:
		second.State, second.Fault = SecondDiffers, FaultOf(&r)
	case killed || len(found) < len(l.By):
		return
	default:
		second.State = SecondPassed
	}
	l.Second = &second
}

func (s *Branch) applyReproved(d *Reproved) {
	for _, l := range s.Batches.Seconds() {
		if l.Batch == d.Batch {
			l.Second.State = d.State
		}
	}
}
