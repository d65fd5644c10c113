package recovery

import (
	"cmp"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
	"divisi/subagents/wire"
)

// Decide does what an answer about a held patch says: it goes on, with those of its change set that are reviewed with it, or its
// attempt has failed and the next one gets the text.
func Decide(agenda *run.Agenda, works run.Works, t *run.Task, a run.Answer) []run.Action {
	d := run.TaskData{State: run.TaskRunning}
	if a.Option != run.Accept {
		fault := rejected(t.Doubt(), a.Text)
		if wire.IsPerson(a.By) && !wire.ByProgram(a.By) {
			fault.Instruction = a.Text
		}
		d = After(agenda, works, t, fault)
	}
	asked, _ := agenda.Tasks.Asked(t)
	if a.ID = asked.Answer.ID; len(asked.With) > 0 {
		a.Of = t.Task.ID
	}
	asked.Answer, asked.Closed = a, true
	d.Decision = &asked
	return []run.Action{run.SetTask(t.Task.ID, d)}
}

// rejected is the fault of an attempt whose patch was rejected.
func rejected(d *run.Doubt, why string) spec.Fault {
	return spec.Fault{
		Class: wire.FaultRejected, Message: "the patch was rejected: " + text.Line(cmp.Or(why, d.Evidence[0])),
		Detail: strings.TrimSpace(why + "\n" + strings.Join(d.Evidence, "\n")),
	}
}

// Fresh are the signatures of a receipt that are new against the base commit, and against an integration head that is known to be
// red.
func Fresh(proofs *run.Proofs, r spec.Receipt) []string {
	fresh, known := gate.NewSignatures(r, proofs.Before(r)), proofs.KnownRed(r)
	if known == nil {
		return fresh
	}
	more := gate.NewSignatures(r, known)
	return slices.DeleteFunc(fresh, func(signature string) bool { return !slices.Contains(more, signature) })
}

// Red is the fault of a patch whose tree has failed these gates.
func Red(proofs *run.Proofs, failed []run.Failure) spec.Fault {
	fault := failed[0].Fault
	fault.Signatures = nil
	for _, f := range failed {
		for _, signature := range Fresh(proofs, f.Receipt) {
			fault.Signatures = append(fault.Signatures, f.Receipt.Gate+": "+signature)
		}
	}
	slices.Sort(fault.Signatures)
	fault.Signatures = slices.Compact(fault.Signatures)
	if slices.ContainsFunc(failed, proofs.Elsewhere) {
		fault.Message += "; in another environment the same tree passed"
	}
	return fault
}
