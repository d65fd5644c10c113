package acceptance

import (
	"slices"

	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// hold keeps a patch out of the queue until the master, a person or the policy of the run has decided about the evidence.
func hold(t *run.Task, kind string, evidence ...string) []run.Action {
	return []run.Action{run.HoldPatch(t, run.Doubt{Evidence: evidence, Kinds: []string{kind}})}
}

// ask holds a patch for what was found, unless only its size is questionable, and that of this task was accepted before, or an
// experiment can tell whether its tests are weaker.
func ask(s *run.State, t *run.Task, v Verdict) []run.Action {
	d := run.Doubt{Evidence: v.Evidence(), Kinds: v.kinds(), Size: v.size(), Skips: v.skips()}
	if d.Size && slices.ContainsFunc(t.Doubts, func(had run.Doubt) bool { return had.Size && had.Accepted() }) {
		return accept(s, t)
	}
	if v.tries() {
		return try(t, v, d)
	}
	return []run.Action{run.HoldPatch(t, d)}
}

// AskUnprovable holds the first patch in the queue that has a part which no gate can prove. That may have become known since the
// patch was accepted.
func AskUnprovable(s *run.State) []run.Action {
	if len(s.Proofs.Unprovable) == 0 {
		return nil
	}
	for t := range s.Tasks.In(run.TaskAccepted) {
		if !t.Unprovable {
			continue
		}
		if actions := holdUnprovable(&s.Spec, &s.Proofs, t); actions != nil {
			return actions
		}
	}
	return nil
}

// holdUnprovable holds a patch that has a part which no gate can prove, unless that was decided about; nil lets it continue.
func holdUnprovable(order *run.Spec, proofs *run.Proofs, t *run.Task) []run.Action {
	if order.AllowUnverified || t.AllowedUnproven() {
		return nil
	}
	var evidence []string
	for _, u := range proofs.UnprovableOf(t) {
		evidence = append(evidence, text.OneLine("no gate proves a change of "+u.String()+": "+u.Why))
	}
	if len(evidence) == 0 {
		return nil
	}
	evidence = text.Few(evidence, maxNamed)
	return []run.Action{run.HoldPatch(t, run.Doubt{Evidence: evidence, Kinds: []string{"unprovable"}, Unprovable: true})}
}
