package proof

import (
	"fmt"
	"slices"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
	"divisi/subagents/gate/testnames"
)

// Compare has the tests looked up that passed on the base commit in another environment, with those of the baseline. Then
// proposes what follows from what differs.
type Compare struct {
	run.Proposal

	// Receipts are those of the other environment, one a gate.
	Receipts []spec.Receipt
	Then     func(Difference) []run.Action
}

// Difference lists passes on the base commit in one of two environments alone, each with its gate's name: Lost in that of the
// baseline, Gained in the other one.
type Difference struct{ Lost, Gained []string }

// And adds what differs in one more gate.
func (d Difference) And(other Difference) Difference {
	return Difference{append(d.Lost, other.Lost...), append(d.Gained, other.Gained...)}
}

// Differ compares what a gate found on the base commit in the environment of the baseline and in another one, with the tests that
// passed in each. Where nothing is lost, a verdict against the second lets nothing through that one against the first refuses.
func Differ(first, other spec.Receipt, passed, there testnames.List) (d Difference) {
	d.Lost, d.Gained = fallen(first, other, passed, there), fallen(other, first, there, passed)
	for _, list := range [][]string{d.Lost, d.Gained} {
		for i := range list {
			list[i] = first.Gate + ": " + list[i]
		}
	}
	return d
}

// fallen lists what passes in one environment and not in another one.
func fallen(from, to spec.Receipt, passed, there testnames.List) (list []string) {
	list = slices.Clone(gate.NewSignatures(to, &from))
	for _, hidden := range gate.NewHidden(to, &from) {
		list = append(list, hidden+" does not run")
	}
	for _, test := range passed.Without(there) {
		if !slices.Contains(to.Signatures, "test: "+test.String()) {
			list = append(list, test.String())
		}
	}
	why := gate.Incomparable(to)
	switch {
	case why != "" && gate.Incomparable(from) == "":
		list = append(list, why)
	case len(list) > 0:
	case from.Tests > 0 && to.Tests == 0:
		list = append(list, "no test runs")
	case from.Verdict == spec.VerdictPass && to.Verdict != spec.VerdictPass:
		list = append(list, "it is red")
	case len(passed) == 0 && to.Passed < from.Passed:
		list = append(list, fmt.Sprintf("%d tests pass, and not %d", to.Passed, from.Passed))
	}
	return list
}
