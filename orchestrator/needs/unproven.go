package needs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"divisi/configs"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
)

// Unproven reports why nothing that lands could be proven, and what a person can choose.
func Unproven(agenda *run.Agenda, proofs *run.Proofs) error {
	var b strings.Builder
	gates := proof.Incomparables(&agenda.Spec, proofs)
	fmt.Fprintf(&b, "run %s cannot verify its changes: %s", agenda.Spec.Run, proof.Unverified(agenda, proofs))
	lacks := proof.Lacks(&agenda.Spec, proofs)
	for i := range lacks {
		b.WriteString("\n" + display.Sanitize(lacks[i].String()))
	}
	all := gates
	gates = slices.DeleteFunc(slices.Clone(all), func(g proof.Incomparable) bool {
		return proof.Explained(lacks, g.Gate)
	})
	for _, g := range gates {
		fmt.Fprintf(&b, "\ngate %s: %s\n  on the base commit %s\n  first error: %s",
			g.Gate, display.Sanitize(strings.Join(g.Command, " ")), g.Why, display.Sanitize(g.Error))
		if g.Output != "" {
			fmt.Fprintf(&b, "\n  whole output: %s", g.Output)
		}
	}
	for _, missing := range agenda.Spec.Missing {
		fmt.Fprintf(&b, "\nnote: %s", display.Sanitize(missing))
	}
	b.WriteString("\nChoose one:")
	if len(lacks) > 0 {
		b.WriteString("\n- add the missing things named above, and start a new run")
	}
	for _, g := range proof.GitFailures(&agenda.Spec, proofs) {
		fmt.Fprintf(&b, "\n- where gate %s asks git (%s): %s", g.Gate, display.Sanitize(g.Line), proof.WhatGitFinds)
	}
	if len(gates) > 0 {
		fmt.Fprintf(&b, "\n- fix the failures, or have the gate name the tests and files that fail; commit, and start a new run")
		fmt.Fprintf(&b, "\n- have tasks fix it: add mends: [%s] to them in the plan, and start a new run",
			display.Sanitize(gates[0].Gate))
		fmt.Fprintf(&b, "\n- leave it out: %s, commit, and start a new run", leaveOut(agenda.Spec.Project.Gates, all))
	} else if len(lacks) == 0 {
		b.WriteString("\n- write a gate to .divisi/divisi.yaml, commit, and start a new run")
	}
	return usage.With(usage.Errorf("%s", b.String()), usage.Unproven, agenda.Spec.Run)
}

// Unprovable is Unproven of a run that ended with an error because it could not be verified; nil for another error.
func Unprovable(err error, agenda *run.Agenda, proofs *run.Proofs) error {
	if !errors.Is(err, proof.ErrUnverified) {
		return nil
	}
	return Unproven(agenda, proofs)
}

// Provable is Unproven of a run that waits because of that; nil for another one.
func Provable(agenda *run.Agenda, proofs *run.Proofs) error {
	if !proof.Unproven(agenda, proofs) {
		return nil
	}
	return Unproven(agenda, proofs)
}

// leaveOut words how to leave the gates that prove nothing out of .divisi/divisi.yaml.
func leaveOut(all []spec.Gate, without []proof.Incomparable) string {
	kept := slices.DeleteFunc(slices.Clone(all), func(g spec.Gate) bool {
		return g.Name == spec.RegenerateGate ||
			slices.ContainsFunc(without, func(w proof.Incomparable) bool { return w.Gate == g.Name })
	})
	text, err := configs.YAML(spec.Project{Gates: kept})
	if len(kept) == 0 || err != nil {
		return "write another gate in its place in .divisi/divisi.yaml"
	}
	return "have only these gates in .divisi/divisi.yaml\n    " +
		strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") + "\n "
}
