package gate

import (
	"regexp"
	"slices"
	"strings"

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

// Before returns the receipt that a gate has in the baseline; nil where it has none.
func Before(baseline map[string]spec.Receipt, gate string) *spec.Receipt {
	if r, ok := baseline[gate]; ok {
		return &r
	}
	return nil
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

// Signatures are the new failures of red gates, each with its gate's name, sorted.
func Signatures(receipts []spec.Receipt, baseline map[string]spec.Receipt) []string {
	var out []string
	for _, r := range receipts {
		if r.Verdict != spec.VerdictFail {
			continue
		}
		for _, s := range NewSignatures(r, Before(baseline, r.Gate)) {
			out = append(out, r.Gate+": "+s)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// named matches signatures that name the test, the package or the file that failed. Others, such as "error: lint failed", come
// with any failure: new damage would hide behind them.
var named = regexp.MustCompile(`^(?:test|package|build): \S|^FAIL |[\pL\pN_-]\.[A-Za-z]\w*\b`)

// cutShort are the beginnings of signatures of a gate that did not run to its end.
var cutShort = []string{"gate: ", "bail out: ", "plan: "}

// Incomparable returns why the failures of a red gate cannot be compared with those of another run of it; "" when they can, and
// for a green gate.
func Incomparable(r spec.Receipt) string {
	ended := func(signature string) bool {
		return slices.ContainsFunc(cutShort, func(s string) bool { return strings.HasPrefix(signature, s) })
	}
	switch {
	case passed(r):
		return ""
	case r.TimedOut:
		return "it timed out"
	case r.Build:
		return "it does not build, so that its tests did not run"
	case slices.ContainsFunc(r.Signatures, ended):
		return "it did not run to its end"
	case slices.Contains(r.Signatures, overflowSignature):
		return "it has more failures than can be listed"
	case !slices.ContainsFunc(r.Signatures, named.MatchString):
		return "it fails, and its output names no test and no file that failed"
	default:
		return ""
	}
}

func passed(r spec.Receipt) bool { return r.ExitCode == 0 && !r.TimedOut }
