package gate

import (
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
)

// Judge returns the verdict on a receipt, compared with the receipt of the same gate on the base commit, which may be nil:
//
//   - pass: the gate exited with 0, reported no failed test, and ran tests where it did on the base commit.
//   - baseline: it is red, every failure was there before, and it hides nothing that the base commit does not hide.
//   - unattributable: it is red and names nothing new, but the base commit's failures cannot be compared (see Incomparable). Only
//     a run that was allowed to continue unverified comes here.
//   - fail: everything else, also a red gate that cannot be compared although the base commit's can.
func Judge(r spec.Receipt, baseline *spec.Receipt) string {
	switch {
	case silent(&r, baseline):
		return spec.VerdictFail
	case passed(r):
		return spec.VerdictPass
	case baseline == nil || passed(*baseline):
		return spec.VerdictFail
	case len(NewSignatures(r, baseline)) > 0, len(NewHidden(r, baseline)) > 0:
		return spec.VerdictFail
	case Incomparable(*baseline) != "":
		return spec.VerdictUnattributable
	case Incomparable(r) != "":
		return spec.VerdictFail
	default:
		return spec.VerdictBaseline
	}
}

// silent reports whether a gate in full is green without a test, and has run tests on the base commit. Gradle may count
// them only when it is red.
func silent(r, baseline *spec.Receipt) bool {
	if !passed(*r) || r.Tests > 0 || r.Since != "" || baseline == nil || baseline.Kind != spec.KindTests || baseline.Tests == 0 {
		return false
	}
	return passed(*baseline) || !strings.HasPrefix(knownTool(r.Command).name, "gradle")
}

// Empty reports whether a gate is green and proves nothing: it runs tests, and none ran.
func Empty(r spec.Receipt) bool { return passed(r) && r.Kind == spec.KindTests && r.Tests == 0 }

// NewHidden lists tests that did not run and are not hidden by the baseline, sorted; everything without a baseline.
func NewHidden(r spec.Receipt, baseline *spec.Receipt) []string {
	if baseline == nil {
		return slices.Clone(r.Hidden)
	}
	if slices.Contains(baseline.Hidden, spec.HiddenAll) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Hidden), func(what string) bool { return slices.Contains(baseline.Hidden, what) })
}

// Before returns the receipt that a gate has in the baseline; nil where it has none.
func Before(baseline map[string]spec.Receipt, gate string) *spec.Receipt {
	if r, ok := baseline[gate]; ok {
		return &r
	}
	return nil
}

// NewSignatures are those that the baseline does not have, or has at fewer places, without what only moved to another file,
// sorted; all of them without a baseline. What an older program has signed was not counted.
func NewSignatures(r spec.Receipt, baseline *spec.Receipt) []string {
	if baseline == nil {
		return slices.Clone(r.Signatures)
	}
	counted := r.Version == baseline.Version
	var fresh []string
	for _, signature := range r.Signatures {
		_, known := slices.BinarySearch(baseline.Signatures, signature)
		_, moved := slices.BinarySearch(r.Moved, signature)
		if !moved && (!known || counted && r.Count(signature) > baseline.Count(signature)) {
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

// named matches signatures that name the test, the suite, the package or the file that failed. Others, such as "error: lint
// failed", come with any failure: new damage would hide behind them.
var named = lazyregexp.New(`^(?:test|package|build|suite|load): \S|^FAIL |[\pL\pN_-]\.[A-Za-z]\w*\b`)

// kinds are the beginnings of signatures that named matches, and FAIL.
var kinds = []string{"test: ", "package: ", "build: ", "suite: ", "load: ", "FAIL "}

// Masked is a signature with another word in the place of its text: Incomparable returns the same with it.
func Masked(signature, word string) string {
	if signature == overflowSignature {
		return signature
	}
	begins := func(kind string) bool { return strings.HasPrefix(signature, kind) }
	if at := slices.IndexFunc(cutShort, begins); at >= 0 {
		return cutShort[at] + word
	}
	if !named.MatchString(signature) {
		return word
	}
	if at := slices.IndexFunc(kinds, begins); at >= 0 {
		return kinds[at] + word
	}
	return word + ".file"
}

// cutShort are the beginnings of signatures of a gate that did not run to its end.
var cutShort = []string{"gate: ", "bail out: ", "plan: "}

// Incomparable returns why the failures of a red gate cannot be compared with those of another run of it; "" when they can, and
// for a green gate. What a comparable gate hides is in its Hidden: the rest is compared.
func Incomparable(r spec.Receipt) string {
	ended := func(signature string) bool {
		return slices.ContainsFunc(cutShort, func(s string) bool { return strings.HasPrefix(signature, s) })
	}
	switch {
	case passed(r):
		return ""
	case r.TimedOut:
		return "it timed out"
	case slices.ContainsFunc(r.Signatures, ended):
		return "it did not run to its end"
	case slices.Contains(r.Signatures, overflowSignature):
		return "it has more failures than can be listed"
	case r.Kind == spec.KindTests && r.Tests == 0:
		return "no test ran"
	case slices.Contains(r.Hidden, spec.HiddenAll) && r.Build:
		return "it does not build, and the tests that did not run are not known"
	case slices.Contains(r.Hidden, spec.HiddenAll):
		return "not everything ran, and the missing tests are not known"
	case !slices.ContainsFunc(r.Signatures, named.MatchString):
		return "it fails, and its output names no test and no file that failed"
	case r.Kind == spec.KindFindings:
		return ""
	case r.Kind != spec.KindTests:
		return "it fails, and its output names no test that passed (a linter or compiler needs `format: findings`)"
	case r.Passed == 0:
		return "no test passed: its failures do not show what they hide"
	default:
		return ""
	}
}

// passed reports whether a gate is green: a report with failures is red whatever the exit code is.
func passed(r spec.Receipt) bool { return r.ExitCode == 0 && !r.TimedOut && len(r.Signatures) == 0 }
