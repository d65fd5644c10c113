package run

import (
	"slices"
	"strings"

	"divisi/internal/spec"
)

// Spends reports whether a role uses a model, its own or that of a coding agent which prints its usage, and with it tokens.
func (s *Spec) Spends(role string) bool {
	r := s.Roles[role]
	return r.Runs(spec.ExecutorModel) || r.Usage != ""
}

// Constraints are all that hold for a task: the run's, those of the tasks whose agents had it dispatched, the widest first, and
// its own. They go to every descendant word for word.
func (s *State) Constraints(t *Task) []string {
	lists := [][]string{t.Task.Constraints}
	for {
		task, _, ok := SplitAgent(s.Plans.All[t.Plan].By)
		up := s.Tasks.ByID[task]
		if !ok || up == nil || up.Plan >= t.Plan {
			break
		}
		lists, t = append(lists, up.Task.Constraints), up
	}
	if s.Spec.Plan != nil {
		lists = append(lists, s.Spec.Plan.Constraints)
	}
	slices.Reverse(lists)
	return spec.Rules(lists...)
}

// Judge is the role that judges the patch of a task's newest attempt; "" for none.
func (s *State) Judge(t *Task) string {
	return t.Task.Judge(s.Spec.RoleOn(t, t.Choice.At), s.Spec.Roles, len(s.Constraints(t)) > 0)
}

// ReasonHalt begins the reason of a run that waits for its machine.
const ReasonHalt = "paused: "

// Halted reports whether a run waits for its machine.
func (s *State) Halted() bool { return !s.Status.Ended() && strings.HasPrefix(s.Reason, ReasonHalt) }

// Busy lists the works whose newest attempt a worker runs and which have not stopped at a turn, but for what nothing waits for.
func (s *State) Busy() (ids []string) {
	for id, w := range s.Queue {
		a := w.Attempts[w.Last]
		if id != FlakesTask && w.Outstanding() && !w.Waits() && a.StartedPos > s.Began && !a.Stopped && a.Lacks == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// Approval reports whether the task's plan was approved; a task that an agent asked for has the approval of the agent's own.
func (s *State) Approval(t *Task) bool {
	for t.Parent != "" {
		t = s.Tasks.ByID[t.Parent]
	}
	p := &s.Plans.All[t.Plan]
	return p.Follows != "" || s.Plans.Approved > t.Plan || s.Spec.AutoApprove || p.ofPerson()
}

// Writes reports whether any task of a plan changes files.
func (s *Spec) Writes(plan PlanData) bool {
	return slices.ContainsFunc(plan.Tasks, func(t spec.Task) bool {
		role := s.Roles[t.Role]
		return role.ChangesFiles()
	})
}

// Quiet reports whether every task has ended and nothing is on the queue.
func (s *State) Quiet() bool {
	all, _ := s.Queue.AtWork()
	return all+s.Queue.Waiting() == 0 && s.Tasks.AllEnded()
}

// ReasonWaits begins the reason of a run that waits for a person where no person watches.
const ReasonWaits = "waits for "

// ReasonPreflight is in the reason of a run that could not begin: its setup or its gates could not be run at all.
const ReasonPreflight = "the repository is not ready for a run"

// ReasonBudget is why a run that has spent its budget stops.
const ReasonBudget = "the budget is spent"

// OutOfBudget reports whether the run has spent its budget.
func (s *State) OutOfBudget() bool { return s.Budget > 0 && s.Usage.Total() >= s.Budget }

// StoppedByBudget reports whether a stopped run may continue only with a larger budget.
func (s *State) StoppedByBudget() bool {
	return s.Status == Stopped && strings.HasPrefix(s.Reason, ReasonBudget)
}
