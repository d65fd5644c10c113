package gate

import (
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
)

// The bounds of an explanation.
const (
	maxExplained  = 12 << 10
	maxListed     = 40
	maxPerReceipt = 6 << 10
)

// Explain describes the failed gates for the next attempt: gate, command, the failures that are new against the baseline (by the
// gate's name), and the output that shows them. It is empty when no gate was red, bounded, and plain text for a prompt; what is
// quoted comes from the repository and is data.
func Explain(receipts []spec.Receipt, baseline map[string]spec.Receipt) string {
	red := slices.DeleteFunc(slices.Clone(receipts), func(r spec.Receipt) bool {
		return r.Verdict != spec.VerdictFail && r.Verdict != spec.VerdictUnattributable
	})
	var b strings.Builder
	for i, r := range red {
		one := clipLines(explainOne(r, Before(baseline, r.Gate)), maxPerReceipt)
		if b.Len()+len(one) > maxExplained-200 {
			fmt.Fprintf(&b, "[%d more gates are left out]\n", len(red)-i)
			break
		}
		b.WriteString(one)
	}
	return b.String()
}

func explainOne(r spec.Receipt, baseline *spec.Receipt) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Gate %s did not pass (%s): %s\n", r.Gate, ending(r), strings.Join(r.Command, " "))
	fresh := NewSignatures(r, baseline)
	hidden := NewHidden(r, baseline)
	if slices.Equal(hidden, []string{spec.HiddenAll}) {
		hidden = nil
	}
	switch {
	case len(r.Signatures) == 0:
		b.WriteString("No single failure could be made out in its output.\n")
	case len(fresh) == 0 && len(hidden) > 0:
		b.WriteString("The same failures were there before this change, and more did not run.\n")
	case len(fresh) == 0:
		b.WriteString("The same failures were there before this change.\n")
	default:
		fmt.Fprintf(&b, "Failures that this change brought (%d; %d were there before):\n",
			len(fresh), len(r.Signatures)-len(fresh))
	}
	for i, signature := range fresh {
		if i == maxListed {
			fmt.Fprintf(&b, "- and %d more\n", len(fresh)-i)
			break
		}
		fmt.Fprintf(&b, "- %s\n", InSource(&r, signature))
	}
	if len(hidden) > 0 {
		fmt.Fprintf(&b, "What did not run because of them: %s\n", strings.Join(text.Few(hidden, maxListed), ", "))
	}
	if r.Tail != "" {
		fmt.Fprintf(&b, "Output:\n%s\n", r.Tail)
	}
	return b.String()
}

func ending(r spec.Receipt) string {
	switch {
	case r.TimedOut:
		return fmt.Sprintf("killed after %s", r.Duration.Round(1e9))
	case r.Build:
		return fmt.Sprintf("build failure, exit code %d; tests may not have run", r.ExitCode)
	default:
		return fmt.Sprintf("exit code %d", r.ExitCode)
	}
}

// clipLines cuts at a line's end and reports that.
func clipLines(whole string, limit int) string {
	if len(whole) <= limit {
		return whole
	}
	return strings.TrimSuffix(text.HeadLines(whole, limit), "\n") + "\n[... cut ...]\n"
}
