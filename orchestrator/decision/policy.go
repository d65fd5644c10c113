package decision

import "divisi/orchestrator/run"

// Policy answers the first open decision that the policy of the run decides.
func Policy(s *run.State) []run.Action {
	for _, d := range Open(s) {
		if answer := of(d.Kind).policy; answer != nil && d.Decider == run.ByRule {
			return answer(&s.Agenda, s.Works, &d, s.Spec.OnDoubt == run.OnDoubtAccept)
		}
	}
	return nil
}
