package run

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"divisi/contextscope"
	"divisi/internal/spec"
)

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
