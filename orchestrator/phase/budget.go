package phase

import (
	"fmt"
	"strings"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// Spent reports whether a run has spent its budget, and what is left to do may cost tokens: then no attempt begins.
func Spent(agenda *run.Agenda, agents *run.Agents) bool {
	return agents.OutOfBudget() && needsModel(agenda, &agents.Master)
}

// KeepBudget stops a run that has spent its budget. It comes behind the rules that test and land what was accepted: that costs no
// tokens, so the run stops when they have nothing left to do. Calls that are under way are paid; none is begun.
func KeepBudget(s *run.State) []run.Action {
	if !Spent(&s.Agenda, &s.Agents) || lands(&s.Spec, s.Works) {
		return nil
	}
	return []run.Action{run.Stop(fmt.Sprintf("%s: %s of %s%s", run.ReasonBudget, s.Budget.Figure(s.Budget.Of(s.Used())), s.Budget,
		run.Plus(s.Unmetered())))}
}

// lands reports whether gates test what was accepted, or a coding agent that has ended hands its work in. The run waits for
// neither while a model is at work, whose next call would cost more.
func lands(order *run.Spec, works run.Works) (lands bool) {
	for _, w := range works {
		role := order.Roles[w.RoleAt(w.Last)]
		switch {
		case !w.Outstanding():
		case w.Batch != nil, w.ID == run.HeadTask, strings.HasSuffix(w.ID, run.RedSuffix), order.HandsIn(w.Newest()):
			lands = true
		case role.Usage == "" && role.Runs(spec.ExecutorModel):
			return false
		}
	}
	return lands
}

// needsModel reports whether what is left to do may cost tokens.
func needsModel(agenda *run.Agenda, lead *run.Master) bool {
	if agenda.Spec.Plan == nil && !lead.Done {
		return true
	}
	for t := range agenda.Tasks.Open() {
		if agenda.Spec.Spends(t.Task.Role) || agenda.Spec.Spends(agenda.Judge(t)) {
			return true
		}
	}
	return false
}
