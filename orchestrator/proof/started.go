package proof

import (
	"slices"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/environment"
)

// Started returns the gates that a change of some files starts, in the project's order: those without paths, those whose paths
// name one of the files, and those that are not green on the base commit, or read beyond their paths there. A file that no gate's
// paths name, or that tells setup what to install, starts all gates. So does a change that is not known: no files.
func Started(order *run.Spec, proofs *run.Proofs, changed []string) (names []string) {
	setup, manifests := &order.Project.Setup, &environment.Environment{}
	all := len(changed) == 0 || slices.ContainsFunc(changed, func(name string) bool {
		decides, _ := manifests.Decides(setup, name)
		return !order.Project.InPaths(name) || decides && len(setup.Command) > 0
	})
	for _, g := range order.Project.Gates {
		base, own := proofs.Baseline[g.Name], func(name string) bool { return spec.MatchAny(g.Paths, name) }
		always := len(g.Paths) == 0 || base.Verdict != spec.VerdictPass || base.Beyond != ""
		if all || always || slices.ContainsFunc(changed, own) {
			names = append(names, g.Name)
		}
	}
	return names
}
