package phase

import (
	"fmt"

	"divisi/orchestrator/run"
)

// KeepBudget stops a run that has spent its budget. Calls that are under way are paid; none is begun.
func KeepBudget(s *run.State) []run.Action {
	if s.Budget <= 0 || s.Usage.Total() < s.Budget || !needsModel(s) {
		return nil
	}
	return []run.Action{run.Stop(fmt.Sprintf("%s: %d of %d tokens%s", run.ReasonBudget, s.Usage.Total(), s.Budget,
		run.Plus(s.Unmetered())))}
}

// needsModel reports whether what is left to do may cost tokens.
func needsModel(s *run.State) bool {
	if s.Spec.Plan == nil && !s.Master.Done {
		return true
	}
	for t := range s.Tasks.Open() {
		if s.Spec.Spends(t.Task.Role) || s.Spec.Spends(s.Judge(t)) {
			return true
		}
	}
	return false
}
