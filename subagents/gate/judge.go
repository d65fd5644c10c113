package gate

import (
	"slices"

	"divisi/internal/spec"
)

// Judge says what a receipt means beside the receipt of the same gate on the base commit, which may be nil:
//
//   - pass: the gate exited with 0.
//   - baseline: it is red, but every failure was there before.
//   - unattributable: it is red over a red baseline and cannot be compared, because nothing could be parsed, because
//     both ran out of time, or because both could not be built in the same way: a build failure hides tests, so it is
//     never a subset.
//   - fail: everything else.
func Judge(r spec.Receipt, baseline *spec.Receipt) string {
	switch {
	case r.ExitCode == 0 && !r.TimedOut:
		return spec.VerdictPass
	case baseline == nil || baseline.ExitCode == 0 && !baseline.TimedOut:
		return spec.VerdictFail
	case len(r.Signatures) == 0:
		return spec.VerdictUnattributable
	case len(NewSignatures(r, baseline)) > 0:
		return spec.VerdictFail
	case r.Build && !baseline.Build:
		return spec.VerdictFail
	case r.Build, r.TimedOut, slices.Contains(r.Signatures, overflowSignature):
		return spec.VerdictUnattributable
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
