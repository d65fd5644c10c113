package run

import (
	"maps"
	"slices"
	"time"

	"divisi/internal/spec"
)

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
