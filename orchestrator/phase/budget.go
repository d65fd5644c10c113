package phase

import (
	"fmt"
	"strings"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// Spent reports whether a run has spent its budget, and what is left to do may cost tokens: then no attempt begins.
func Spent(agenda *run.Agenda, agents *run.Agents) bool {
	return (agents.OutOfBudget() || agents.Exhausted.Why != "") && needsModel(agenda, &agents.Master)
}

// TellBudget tells once that 80 percent of the budget are spent, and once that 95 are: then agents are asked to finish.
func TellBudget(s *run.State) []run.Action {
	percent := reached(s.Budget, s.Used())
	if percent <= s.Said {
		return nil
	}
	notice := fmt.Sprintf("%d %% of the budget are spent: %s", percent, used(s))
	if percent < run.WrapUp {
		return []run.Action{run.SetRun(run.Data{Said: percent, Notices: []string{notice}})}
	}
	notice += "; agents are asked to finish, and no task begins that would not fit"
	return append([]run.Action{run.SetRun(run.Data{Said: percent, Notices: []string{notice}})}, wrapUp(s)...)
}

// TellDay does so for the budget of the day, which day returns with what is spent of it; nil where there is none. Where that is
// not known, what was told holds.
func TellDay(day func() (run.Day, spec.Sum, error)) func(*run.State) []run.Action {
	return func(s *run.State) []run.Action {
		if day == nil {
			return nil
		}
		today, spent, err := day()
		if err != nil {
			return nil
		}
		today.Said = reached(today.Budget, spent)
		switch same := today.Date == s.Day.Date && today.Budget == s.Day.Budget; {
		case same && today.Said <= s.Day.Said:
			return nil
		case today.Said == 0:
			return []run.Action{run.SetRun(run.Data{Day: &today})}
		}
		b := today.Budget
		notice := fmt.Sprintf("%d %% of %s are spent: %s of %s", today.Said, spec.DayBudget, b.Figure(b.Of(spent)), b)
		if today.Said < run.WrapUp {
			return []run.Action{run.SetRun(run.Data{Day: &today, Notices: []string{notice}})}
		}
		notice += "; agents are asked to finish"
		return append([]run.Action{run.SetRun(run.Data{Day: &today, Notices: []string{notice}})}, wrapUp(s)...)
	}
}

// reached is the highest percentage of a budget that a run tells, and that is spent.
func reached(b spec.Budget, spent spec.Sum) (percent int) {
	for _, p := range []int{80, run.WrapUp} {
		if b.Used(spent, int64(p)) {
			percent = p
		}
	}
	return percent
}

// wrapUp asks the agents at work to finish.
func wrapUp(s *run.State) (actions []run.Action) {
	for _, id := range s.Busy() {
		if role := s.Spec.Roles[s.Works[id].RoleAt(s.Works[id].Last)]; role.Runs(spec.ExecutorModel) {
			actions = append(actions, run.Write{Task: id, Text: finish, From: run.ByRule}, run.Tell{Work: id})
		}
	}
	return actions
}

// finish asks an agent to wrap up.
const finish = "The budget is almost spent. Begin nothing new: finish what you have, and hand it in with your next calls."

func used(s *run.State) string {
	return s.Budget.Figure(s.Budget.Of(s.Used())) + " of " + s.Budget.String() + run.Plus(s.Unmetered())
}

// KeepBudget stops a run that has spent its budget. It comes behind the rules that test and land what was accepted: that costs no
// tokens, so the run stops when they have nothing left to do. Calls that are under way are paid; none is begun. A run that a
// person watches asks instead, once no agent works with what is left.
func KeepBudget(watched bool) func(*run.State) []run.Action {
	return func(s *run.State) []run.Action {
		why := s.Exhausted.Why
		all, _ := s.Queue.AtWork()
		switch {
		case lands(&s.Spec, s.Works):
			return nil
		case s.Said >= run.WrapUp && why == "" && all == 0 && heldBack(s):
			why = "what is left is less than a task needs: " + used(s) + " are spent"
		case !Spent(&s.Agenda, &s.Agents):
			return nil
		case why == "":
			why = used(s)
		}
		switch {
		case !watched:
			return []run.Action{run.Stop(s.OverBudget(why))}
		case s.Exhausted.Why == "" && all == 0:
			return []run.Action{run.SetRun(run.Data{Exhausted: why})}
		}
		return nil
	}
}

// heldBack reports whether a task does not begin because it is not expected to fit.
func heldBack(s *run.State) bool {
	for t := range s.Tasks.Open() {
		if role := t.Task.Role; t.State == run.TaskPending && s.Spec.Spends(role) && !s.Fits(role) {
			return true
		}
	}
	return false
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
