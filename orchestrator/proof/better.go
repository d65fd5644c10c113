package proof

import (
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// Better words what is left in gates that a batch mends in part, with what fails now and did not run before; "" for none.
func Better(p *run.Proofs, receipts []spec.Receipt) string {
	var parts []string
	for _, r := range receipts {
		before := p.Before(r)
		switch {
		case before == nil:
			continue
		case r.Verdict == spec.VerdictPassage:
			parts = append(parts, fmt.Sprintf("gate %s has %s", r.Gate, text.Count(r.Failures(), "failure")))
			continue
		case r.Verdict != spec.VerdictBetter:
			continue
		}
		part := fmt.Sprintf("gate %s has %s, %d before", r.Gate, text.Count(r.Failures(), "failure"), before.Failures())
		if len(r.Appeared) > 0 {
			part += fmt.Sprintf("; %d fail now and did not run before: %s", len(r.Appeared), text.Some(r.Appeared, maxNamed))
		}
		parts = append(parts, part)
	}
	return text.Clip(text.OneLine(strings.Join(parts, "; ")), text.MaxLine)
}

// BetterLanded words which landed tasks mend a gate that is not green yet, and what it has left; "" for none.
func BetterLanded(agenda *run.Agenda, branch *run.Branch) string {
	names := slices.DeleteFunc(slices.Clone(agenda.Tasks.Order),
		func(id string) bool { return !branch.Better(agenda.Tasks.ByID[id]) })
	if len(names) == 0 {
		return ""
	}
	left := ""
	for _, g := range agenda.Spec.GateNames() {
		now, _ := branch.Proofs.Now(g)
		if len(branch.Proofs.Mended[g]) > 0 && now.Verdict != spec.VerdictPass {
			base, count := branch.Proofs.Baseline[g], text.Count(now.Failures(), "failure")
			left += fmt.Sprintf("; gate %s has %s, %d on the base commit", g, count, base.Failures())
		}
	}
	return fmt.Sprintf("%d landed as better, not proven (%s)%s", len(names), strings.Join(text.Few(names, maxNamed), ", "), left)
}
