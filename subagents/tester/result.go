package tester

import (
	"fmt"
	"strings"

	"divisi/internal/spec"
	"divisi/subagents/gate"
	"divisi/subagents/wire"
)

// judged makes the result of the gates; skipped names those that did not run.
func (t *Executor) judged(receipts []spec.Receipt, skipped []string) spec.Result {
	var red []string
	var first spec.Receipt
	for _, r := range receipts {
		if r.Verdict != spec.VerdictFail {
			continue
		}
		if red = append(red, r.Gate); len(red) == 1 {
			first = r
		}
	}
	notes := t.notes(receipts)
	if len(red) > 0 {
		names := strings.Join(red, ", ")
		if len(skipped) > 0 {
			names += " (" + strings.Join(skipped, ", ") + " did not run)"
		}
		r := wire.Failed(wire.FaultGate,
			fmt.Sprintf("%d of %d gates did not pass: %s: %s", len(red), len(receipts)+len(skipped), names,
				gate.Reason(first, gate.Before(t.Assignment.Baseline, first.Gate))),
			gate.Explain(receipts, t.Assignment.Baseline))
		r.Error.Output = first.Output
		r.Error.Signatures = gate.Signatures(receipts, t.Assignment.Baseline)
		r.Receipts, r.Handoff = receipts, spec.Handoff{Summary: r.Error.Message, Deviations: notes}
		return r
	}
	return spec.Result{Status: spec.StatusDone, Receipts: receipts, Handoff: spec.Handoff{
		Summary: fmt.Sprintf("%d gates passed", len(receipts)), Deviations: notes,
	}}
}

// notes are hints about gates that did not block.
func (t *Executor) notes(receipts []spec.Receipt) []string {
	notes := t.noted
	for _, r := range receipts {
		if b, ok := t.Assignment.Baseline[r.Gate]; ok && r.Tests < b.Tests && !r.Build && r.Since == "" {
			notes = append(notes, fmt.Sprintf("gate %s ran %d tests; on the base commit it ran %d", r.Gate, r.Tests, b.Tests))
		}
	}
	return notes
}
