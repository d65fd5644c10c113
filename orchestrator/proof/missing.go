package proof

import (
	"slices"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// Inspect has the tests looked up that passed on the base commit and did not run in gates which let something through. Then
// proposes what follows.
type Inspect struct {
	run.Proposal

	// Receipts are those of the gates, with missing tests. Back reports that a patch was taken out: what ran again is not gone.
	Receipts []spec.Receipt
	Back     bool
	Spans    []Span
	// Allowed are, by gate, the objects with tests that accepted doubts are about.
	Allowed map[string][]string
	Then    func(Inspection) []run.Action
}

// Span is the range of a patch, from one commit to another one; Task is "" for all that has landed. Of a patch that was accepted
// after a doubt the changes of tests are decided about.
type Span struct {
	Task, From, To string
	Accepted       bool
}

// Inspection is the result.
type Inspection struct {
	// Gone are, by gate, the objects with all tests that landed patches took away, and with those of this batch.
	Gone map[string]string
	// Doubts are those about tests whose end no change explains, by the task that they are about.
	Doubts map[string]run.Doubt
}

// Missing returns the receipts with tests of the base commit that did not run.
func Missing(receipts []spec.Receipt) []spec.Receipt {
	return slices.DeleteFunc(slices.Clone(receipts), func(r spec.Receipt) bool { return r.Missing == "" })
}

// OnBaseAgain has the gates run on the base commit once more, unless they did: what does not pass there twice is no test that
// patches are asked about.
func OnBaseAgain(s *run.State) []run.Action {
	names := Comparable(&s.Spec, &s.Proofs)
	if s.Proofs.Flaky != nil || s.Works.Settled(run.AgainTask) != nil || len(names) == 0 {
		return nil
	}
	return s.Works.AssignGates(run.Dispatch{Task: run.AgainTask, Head: s.Spec.Base, Gates: names})
}
