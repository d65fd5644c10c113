package phase

import (
	"fmt"

	"divisi/internal/text"
	"divisi/orchestrator/master"
	"divisi/orchestrator/run"
)

// waitsFor returns what the run waits for a person to do, once no attempt is active; empty while one is.
func waitsFor(s *run.State) string {
	active, _ := s.AtWork()
	switch {
	case active > 0 || s.Status != run.Planning && s.Status != run.Running:
		return ""
	case s.PlanToApprove() >= 0:
		return "approval of the plan"
	}
	if open := master.Questions(s); len(open) > 0 {
		return "an answer to " + open[0].Agent() + ": " + text.Line(open[0].Question)
	}
	if held := s.HeldFor(); len(held) > 0 {
		return "a decision about the patch of " + held[0].Task.ID + ": " + text.Line(held[0].Doubt().Evidence[0])
	}
	if holds := s.HoldsForPerson(); len(holds) > 0 {
		return "a decision about the template " + holds[0].Template + ": " + holds[0].Why()
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

// Stuck stops a run that only a person's answer can continue, while no person watches. The question can be answered while the
// run is stopped.
func Stuck(s *run.State) []run.Action {
	if s.Status != run.Running && s.Status != run.Planning {
		return nil
	}
	working, _ := s.AtWork()
	questions, held, holds := master.Questions(s), s.HeldFor(), s.HoldsForPerson()
	if working > 0 || len(questions)+len(held)+len(holds) == 0 {
		return nil
	}
	if len(questions)+len(held) == 0 {
		return []run.Action{run.Stop(fmt.Sprintf("waits for a decision about the template %s: %s; then: divisi resume %s",
			holds[0].Template, holds[0].Ways(s.Spec.Run), s.Spec.Run))}
	}
	if len(questions) == 0 {
		t, id := held[0], s.Spec.Run
		return []run.Action{run.Stop(fmt.Sprintf("waits for a decision about the patch of %s: %s (see: divisi diff %s/%s; then: "+
			"divisi accept %s/%s, or divisi send %s/%s \"why not\"; then: divisi resume %s)", t.Task.ID,
			text.Line(t.Doubt().Evidence[0]), id, t.Task.ID, id, t.Task.ID, id, t.Task.ID, id))}
	}
	q, to := questions[0], s.Spec.Run
	if q.Of != run.MasterTask {
		to += "/" + q.AskedBy()
	}
	return []run.Action{run.Stop(fmt.Sprintf(
		"waits for an answer to %s: %s (answer: divisi send %s \"…\", then: divisi resume %s)",
		q.Agent(), text.Line(q.Question), to, s.Spec.Run))}
}

// KeepBudget stops a run that has spent its budget. Calls that are under way are paid; none is begun.
func KeepBudget(s *run.State) []run.Action {
	if s.Budget <= 0 || s.Usage.Total() < s.Budget || !s.NeedsModel() {
		return nil
	}
	return []run.Action{run.Stop(fmt.Sprintf("%s: %d of %d tokens", run.ReasonBudget, s.Usage.Total(), s.Budget))}
}
