package run

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// signs reports whether the receipts of a run are signed: those of workers elsewhere always are.
func signs(s *State) bool { return len(s.Spec.Keys) > 0 || s.Crew != nil }

// refused returns why a receipt that a worker handed in with an event proves nothing; nil where it counts. A run whose first
// event names no key has no signed receipts.
func (s *State) refused(e *contextscope.Event, a *Attempt, r spec.Receipt) error {
	if !signs(s) {
		return nil
	}
	if s.Quarantines[r.Worker] != nil {
		return fmt.Errorf("worker %.40s is in quarantine", r.Worker)
	}
	if err := s.verify(r); err != nil {
		return err
	}
	if agent := wire.AgentID(e.Task, a.Attempt); r.Agent != "" && r.Agent != agent {
		return fmt.Errorf("it is of %.80s, and was submitted for %s", r.Agent, agent)
	}
	if a.Barred && r.Worker == a.Worker {
		return fmt.Errorf("worker %.40s leaves it to another worker: it has proven the same before", r.Worker)
	}
	if s.Proofs.ofBase(r) {
		return nil // its worker has the gates run on the base commit first
	}
	batch := s.Works.batch(e.Task)
	if batch != nil && batch.Tree != r.Tree {
		return fmt.Errorf("it is of the tree %.12s, and the batch has %.12s", r.Tree, batch.Tree)
	}
	inFull := e.Task == FinalTask || e.Task == HeadTask
	if l := s.Batches.at(a.Head); inFull && l != nil && l.Tree != r.Tree {
		return fmt.Errorf("it is of the tree %.12s, and the gates run on %.12s", r.Tree, l.Tree)
	}
	again := s.Batches.reproven(e.Task)
	if again != nil && again.Tree != r.Tree {
		return fmt.Errorf("it is of the tree %.12s, and the batch has %.12s", r.Tree, again.Tree)
	}
	compared := batch != nil || again != nil || inFull || strings.HasSuffix(e.Task, RedSuffix)
	if compared && !s.Proofs.comparable(r) {
		return fmt.Errorf("it is of the environment %.12s, and the baseline of %.12s", r.Environment, s.Proofs.Reference())
	}
	return nil
}

// verify returns why a receipt is not what a worker of the run has signed. Where the log was concealed its host has checked that.
func (s *State) verify(r spec.Receipt) error {
	if !s.Spec.Concealed {
		return wire.Verify(s.Spec.Run, s.Spec.Keys, r)
	}
	if len(r.Signature) == 0 {
		return errors.New("its signature is not that of a worker of the run")
	}
	return nil
}

// batch is the batch whose gates a work runs; nil for none.
func (w Works) batch(id string) *Batch {
	if work := w[id]; work != nil {
		return work.Batch
	}
	return nil
}

// weed refuses a result that does not count, or with a receipt that proves nothing: it proves nothing either, and the gates run
// again.
func (s *State) weed(e *contextscope.Event, a *Attempt, r *spec.Result) {
	why := s.lapsed(e, a, r)
	for _, rc := range r.Receipts {
		if why != nil {
			break
		}
		err := s.refused(e, a, rc)
		if err == nil && signs(s) && rc.Worker != e.Worker && !a.left(rc) {
			err = fmt.Errorf("worker %.40s submitted a receipt of worker %.40s, which did not make it in this attempt",
				e.Worker, rc.Worker)
		}
		if err != nil {
			why = fmt.Errorf("the receipt of gate %.40s does not count: %w", rc.Gate, err)
		}
	}
	if why != nil {
		s.Notices = append(s.Notices, fmt.Sprintf("event at %d: %v (result of %s)", e.Pos, why, e.Agent))
		r.Receipts, r.Patch, r.Status = nil, nil, spec.StatusFailed
		r.Error = &spec.Fault{Class: wire.FaultInternal, Message: why.Error()}
	}
}

// left reports whether an earlier delivery of the attempt left a receipt: a later one continues with it.
func (a *Attempt) left(r spec.Receipt) bool {
	return slices.ContainsFunc(a.Receipts, func(had spec.Receipt) bool { return bytes.Equal(had.Signature, r.Signature) })
}

// applyGateRun folds a receipt that a worker appended.
func (s *State) applyGateRun(e *contextscope.Event, a *Attempt, r spec.Receipt) error {
	err := s.refused(e, a, r)
	if err == nil && r.Worker != e.Worker && signs(s) {
		err = fmt.Errorf("worker %.40s appended a receipt of worker %.40s", e.Worker, r.Worker)
	}
	if err == nil {
		r.Pos = e.Pos
		a.Receipts = append(a.Receipts, r)
		s.Proofs.At[r.Worker] = r.Environment
		return nil
	}
	*e = wire.Disown(e, &wire.ForeignError{Why: err.Error()})
	return decode(e, s.applyUnreadable)
}
