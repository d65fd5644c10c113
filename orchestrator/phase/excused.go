package phase

import (
	"fmt"
	"slices"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
)

// excused inspects gates of the end that are red, and pass because one worker alone has told that the base commit was as red.
// They run there again on another one of its environment. What passes there counts as new, and makes the gate red.
func excused(s *run.State, final *run.Data, good []spec.Receipt) (again []run.Action) {
	for _, r := range good {
		base := s.Proofs.Before(r)
		if s.Crew == nil || r.Verdict != spec.VerdictBaseline || base == nil || base.Worker == r.Worker ||
			len(s.Proofs.Mended[r.Gate]) > 0 {
			continue
		}
		told := s.ToldOfBase(*base)
		if len(told) == 0 && s.Serves(base.Environment, base.Worker) {
			if again = onBaseElsewhere(s, base); again != nil {
				return again
			}
		}
		for _, other := range told {
			fresh := slices.Concat(gate.NewSignatures(r, &other), gate.NewHidden(r, &other))
			i := slices.IndexFunc(final.Final, func(f spec.Receipt) bool { return f.Gate == r.Gate })
			if len(fresh) == 0 || gate.Incomparable(other) != "" || failed(final.Final[i]) {
				continue
			}
			final.Final[i].Verdict = spec.VerdictFail
			final.Notices = append(final.Notices, text.OneLine(fmt.Sprintf(
				"gate %s fails at the end, and failed on the base commit on worker %s alone, not on %s: %s",
				r.Gate, base.Worker, other.Worker, text.Some(few(fresh), maxNamed+1))))
		}
	}
	return nil
}

// onBaseElsewhere has the gates run on the base commit on another worker; nil where that was tried in vain.
func onBaseElsewhere(s *run.State, base *spec.Receipt) []run.Action {
	gates := proof.Comparable(&s.Spec, &s.Proofs)
	if !slices.Contains(gates, base.Gate) {
		gates = append(gates, base.Gate)
	}
	d := run.Dispatch{
		Task: run.AgainTask, Head: s.Spec.Base, Gates: gates, Not: []string{base.Worker},
	}
	if w := s.Works[run.AgainTask]; w != nil && vain(&s.Agents, w) > recovery.MaxGateTries {
		return nil
	}
	return s.Works.AssignGates(d)
}
