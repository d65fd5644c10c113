package acceptance

import (
	"slices"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
)

// ProvedOn reports whether all receipts are of one tree.
func ProvedOn(tree string, receipts []spec.Receipt) bool {
	return !slices.ContainsFunc(receipts, func(r spec.Receipt) bool { return r.Tree != tree })
}

// NewSignatures collects what is red in the receipts and was not red on the base.
func NewSignatures(receipts []spec.Receipt, baseline map[string]spec.Receipt) []string {
	var out []string
	for _, r := range receipts {
		if r.Verdict != spec.VerdictFail {
			continue
		}
		base := baseline[r.Gate]
		for _, s := range gate.NewSignatures(r, &base) {
			out = append(out, r.Gate+": "+s)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Red is the fault of a patch whose tree has failed these gates.
func Red(s *run.State, failed []run.Failure) spec.Fault {
	receipts := make([]spec.Receipt, 0, len(failed))
	for _, f := range failed {
		receipts = append(receipts, f.Receipt)
	}
	fault := failed[0].Fault
	fault.Signatures = NewSignatures(receipts, s.Baseline)
	return fault
}
