package gate

import (
	"regexp"
	"slices"
	"strings"

	"divisi/internal/spec"
)

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
