package run

import (
	"fmt"
	"slices"

	"divisi/contextscope"
	"divisi/subagents/wire"
)

// What a run does about a doubt that the master did not decide.
const (
	OnDoubtAsk    = "ask"    // the run waits for a person
	OnDoubtReject = "reject" // the attempt has failed
	OnDoubtAccept = "accept" // the patch goes on
)

// OnDoubts are the known ones.
var OnDoubts = []string{OnDoubtAsk, OnDoubtReject, OnDoubtAccept}

// ByPolicy is the author of a ruling that OnDoubt made.
const ByPolicy = "policy"

// Doubt is why a patch is held, and what became of it.
type Doubt struct {
	Attempt int `json:"attempt,omitempty"`
	// Evidence is why, one sentence each. Foreign text in it is quoted.
	Evidence []string `json:"evidence"`
	// Review is set where the only reason is that a person is to see each patch: no policy and no master decides it.
	Review bool `json:"review,omitempty"`
	// Size is set where all evidence is about the size of the patch: no policy rejects it.
	Size bool `json:"size,omitempty"`
	// Unprovable is set where the reason is that no gate can prove what the patch changes.
	Unprovable bool `json:"unprovable,omitempty"`
	// Missing is set where tests of the base commit did not run with the patch: by gate, the object with them.
	Missing map[string]string `json:"missing,omitempty"`
	// Pos is where in the log it began; Ruling is nil while it is open.
	Pos    uint64  `json:"-"`
	Ruling *Ruling `json:"ruling,omitempty"`
}

// Ruling is the decision about a doubt.
type Ruling struct {
	// By is the identity of a person, an attempt of the master, or ByPolicy.
	By     string `json:"by"`
	Accept bool   `json:"accept,omitempty"`
	// Words are the reason of a rejection, for the next attempt.
	Words string `json:"words,omitempty"`
}

// Doubt returns the open doubt of a held task; nil for none.
func (t *Task) Doubt() *Doubt {
	if t.State != TaskHeld || len(t.Doubts) == 0 {
		return nil
	}
	return &t.Doubts[len(t.Doubts)-1]
}

// accepted are the doubts about the patch of the task's newest attempt that were decided for it.
func (t *Task) accepted() []Doubt {
	return slices.DeleteFunc(slices.Clone(t.Doubts), func(d Doubt) bool {
		return d.Attempt != t.Attempt || d.Ruling == nil || !d.Ruling.Accept
	})
}

// Cleared reports whether a doubt about the patch of the task's newest attempt was decided for it.
func (t *Task) Cleared() bool { return len(t.accepted()) > 0 }

// Reviewed reports whether a person has accepted the patch of the task's newest attempt.
func (t *Task) Reviewed() bool {
	return slices.ContainsFunc(t.accepted(), func(d Doubt) bool { return wire.IsPerson(d.Ruling.By) })
}

// AllowedUnproven reports whether the patch of the task's newest attempt may land though no gate can prove it.
func (t *Task) AllowedUnproven() bool {
	return slices.ContainsFunc(t.accepted(), func(d Doubt) bool { return d.Unprovable })
}

// Without returns the accepted doubts about tests that do not run with the patch of the task's newest attempt.
func (t *Task) Without() []Doubt {
	return slices.DeleteFunc(t.accepted(), func(d Doubt) bool { return d.Missing == nil })
}

// applyDoubt folds that a patch is held, or the decision about it.
func (t *Task) applyDoubt(e *contextscope.Event, d TaskData) {
	switch open := t.Doubt(); {
	case d.Doubt != nil:
		if t.Undecided() != nil { // it was given up before the decision: this is the same doubt
			t.Doubts = t.Doubts[:len(t.Doubts)-1]
		}
		d.Doubt.Attempt, d.Doubt.Pos = t.Attempt, e.Pos
		t.Doubts = append(t.Doubts, *d.Doubt)
	case d.Ruling != nil && open != nil: // the state is still held
		open.Ruling = d.Ruling
	}
}

// Decision is the ruling in words, of a task in a state.
func (d *Doubt) Decision(state TaskState) string {
	switch r := d.Ruling; {
	case r == nil && state != TaskHeld:
		return "none: the task is " + string(state)
	case r == nil:
		return "open"
	case r.Accept && d.Size && r.By == ByPolicy:
		return "noted: size alone rejects no patch"
	case r.Accept:
		return "accepted by " + r.By
	case r.Words == "":
		return "rejected by " + r.By
	default:
		return fmt.Sprintf("rejected by %s: %s", r.By, r.Words)
	}
}
