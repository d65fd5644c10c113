package gate

import (
	"slices"

	"divisi/internal/spec"
)

// Judge returns the verdict on a receipt, compared with the receipt of the same gate on the base commit, which may be nil:
//
//   - pass: the gate exited with 0.
//   - baseline: it is red, but every failure was there before.
//   - unattributable: it is red and names nothing new, but the base commit's failures cannot be compared (see Incomparable). Only
//     a run that was allowed to go on unverified comes here.
//   - fail: everything else, also a red gate that cannot be compared although the base commit's can.
func Judge(r spec.Receipt, baseline *spec.Receipt) string {
	switch {
	case passed(r):
		return spec.VerdictPass
	case baseline == nil || passed(*baseline):
		return spec.VerdictFail
	case len(NewSignatures(r, baseline)) > 0, r.Build && !baseline.Build:
		return spec.VerdictFail
	case Incomparable(*baseline) != "":
		return spec.VerdictUnattributable
	case Incomparable(r) != "":
		return spec.VerdictFail
	default:
		return spec.VerdictBaseline
	}
}

// NewSignatures are those that the baseline does not have, sorted; all of them without a baseline.
func NewSignatures(r spec.Receipt, baseline *spec.Receipt) []string {
	if baseline == nil {
		return slices.Clone(r.Signatures)
	}
	var fresh []string
	for _, signature := range r.Signatures {
		if _, known := slices.BinarySearch(baseline.Signatures, signature); !known {
			fresh = append(fresh, signature)
		}
	}
	return fresh
}
