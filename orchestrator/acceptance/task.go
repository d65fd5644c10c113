package acceptance

import (
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
)

// constraints asks about each constraint that the author reports as not kept. Models have to report on all of them to hand in a
// result.
func constraints(p *Patch) (found []Finding) {
	for _, c := range p.Handoff.Broken() {
		rule := text.Quote(text.Short(c.Text, 80))
		found = append(found, Finding{Text: "its author did not keep the constraint " + rule + ": " + c.Note})
	}
	if p.Role.Executor != spec.ExecutorModel {
		return found
	}
	for _, rule := range spec.Rules(p.Task.Constraints) {
		same := func(c spec.ConstraintEcho) bool { return strings.TrimSpace(c.Text) == strings.TrimSpace(rule) }
		if !slices.ContainsFunc(p.Handoff.Constraints, same) {
			rule = text.Quote(text.Short(rule, 80))
			found = append(found, Finding{Text: "its author did not report on the constraint " + rule})
		}
	}
	return found
}
