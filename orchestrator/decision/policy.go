package decision

import (
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// Policy answers the first open decision that the policy of the run decides. No policy rejects a patch for its size: that is
// noted.
func Policy(s *run.State) []run.Action {
	if s.Spec.OnDoubt != run.OnDoubtAccept && s.Spec.OnDoubt != run.OnDoubtReject {
		return nil
	}
	for _, d := range Open(s) {
		if d.Decider.Who != run.ByRule {
			continue
		}
		if d.Kind == run.DecideTemplate {
			return request.RuleHold(s, s.Templates.OpenHold(d.About), s.Spec.OnDoubt == run.OnDoubtAccept)
		}
		t := s.Tasks.ByID[d.About]
		return acceptance.Rule(s, t, run.Ruling{By: run.ByPolicy, Accept: t.Doubt().Size || s.Spec.OnDoubt == run.OnDoubtAccept})
	}
	return nil
}
