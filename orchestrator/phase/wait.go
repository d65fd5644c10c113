package phase

import (
	"fmt"

	"divisi/orchestrator/decision"
	"divisi/orchestrator/run"
)

// waitsFor returns what the run waits for a person to do, once no attempt is active; empty while one is.
func waitsFor(s *run.State) string {
	active, _ := s.Queue.AtWork()
	if active > 0 || s.Status != run.Planning && s.Status != run.Running {
		return ""
	}
	if s.Line != "" {
		return "the line to be started again"
	}
	if open := decision.ForPerson(s); len(open) > 0 {
		return open[0].Text
	}
	return ""
}

// AnnounceWait records when the run begins to wait for a person, and when that ends.
func AnnounceWait(s *run.State) []run.Action {
	what := waitsFor(s)
	if what == s.Wait.For {
		return nil
	}
	return []run.Action{run.SetRun(run.Data{Wait: &what})}
}

// WaitsFor begins the reason of a run that Stuck has stopped.
const WaitsFor = "waits for "

// Stuck stops a run that only a person's answer can continue, while no person watches. The question can be answered while the
// run is stopped.
func Stuck(s *run.State) []run.Action {
	if s.Status != run.Running && s.Status != run.Planning {
		return nil
	}
	working, _ := s.Queue.AtWork()
	open := decision.ForPerson(s)
	if working > 0 || len(open) == 0 {
		return nil
	}
	return []run.Action{run.Stop(WaitsFor + open[0].Text)}
}

// KeepBudget stops a run that has spent its budget. Calls that are under way are paid; none is begun.
func KeepBudget(s *run.State) []run.Action {
	if s.Budget <= 0 || s.Usage.Total() < s.Budget || !needsModel(s) {
		return nil
	}
	return []run.Action{run.Stop(fmt.Sprintf("%s: %d of %d tokens", run.ReasonBudget, s.Usage.Total(), s.Budget))}
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
