package run

import (
	"maps"
	"slices"
	"strings"

	"divisi/internal/spec"
)

// Spends reports whether a role uses a model, and with it tokens.
func (s *Spec) Spends(role string) bool {
	r := s.Roles[role]
	return r.Runs(spec.ExecutorModel)
}

// Usual is what an attempt of each role that handed in its result used on average: in this run, else in earlier ones.
func (s *State) Usual() map[string]spec.Usage {
	sum, count, out := map[string]spec.Usage{}, map[string]int{}, map[string]spec.Usage{}
	for _, w := range s.Works {
		for _, a := range w.Attempts {
			if a.Result != nil && a.Result.Status == spec.StatusDone && a.Usage.Total() > 0 {
				sum[a.Role], count[a.Role] = sum[a.Role].Add(a.Usage), count[a.Role]+1
			}
		}
	}
	maps.Copy(out, s.Spec.Usual)
	for role, u := range sum {
		out[role] = u.Mean(count[role])
	}
	return out
}

// Dispatcher is the older task whose agent had a task dispatched; nil for tasks of the master and of a plan file.
func (s *State) Dispatcher(t *Task) *Task {
	task, _, ok := SplitAgent(s.Plans[t.Plan].By)
	up := s.Tasks[task]
	if !ok || up == nil || up.Plan >= t.Plan {
		return nil
	}
	return up
}

// Constraints are all that hold for a task: the run's, those of the tasks whose agents had it dispatched, the widest first, and
// its own. They go to every descendant word for word.
func (s *State) Constraints(t *Task) []string {
	lists := [][]string{t.Task.Constraints}
	for up := s.Dispatcher(t); up != nil; up = s.Dispatcher(up) {
		lists = append(lists, up.Task.Constraints)
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

// PlannedTasks are all of the run's, in plan order.
func (s *State) PlannedTasks() []spec.Task {
	out := make([]spec.Task, 0, len(s.Order))
	for _, id := range s.Order {
		out = append(out, s.Tasks[id].Task)
	}
	return out
}

// RolesAbove are the roles above a request of a task's agent, the outermost first: its own, those that transferred the task
// to it, and those of the agents that had asked for the task.
func (s *State) RolesAbove(t *Task) []string {
	var roles []string
	for up := t; up != nil; up = s.Tasks[up.Parent] {
		roles = append(roles, up.Task.Role)
		for _, h := range slices.Backward(up.Handovers) {
			roles = append(roles, h.Role)
		}
	}
	slices.Reverse(roles)
	return roles
}

// PlannedNothing reports whether the master ended its work and planned no task.
func (s *State) PlannedNothing() bool {
	return s.Spec.Plan == nil && s.Master.Done && len(s.Order) == 0
}

// ReasonHalt begins the reason of a run that waits for its machine.
const ReasonHalt = "paused: "

// Halted reports whether a run waits for its machine.
func (s *State) Halted() bool { return !s.Status.Ended() && strings.HasPrefix(s.Reason, ReasonHalt) }

// PlanToApprove is the index of the oldest plan that writes and is not approved; -1 when there is none.
func (s *State) PlanToApprove() int {
	if len(s.toApprove) == 0 || s.Spec.AutoApprove {
		return -1
	}
	return s.toApprove[0]
}

// PlanNow is a plan as it would start now: with its tasks as they were revised, without those that have ended.
func (s *State) PlanNow(at int) PlanData {
	d := s.Plans[at]
	d.Tasks = nil
	for _, planned := range s.Plans[at].Tasks {
		if t := s.Tasks[planned.ID]; t != nil && t.Plan == at && !t.Ended() {
			d.Tasks = append(d.Tasks, t.Task)
		}
	}
	return d
}

// Wait reports whether the agent of a task waits for others.
func (w Works) Wait(id string) bool {
	work := w[id]
	return work != nil && work.Waits()
}

// Approval reports whether the task's plan was approved; a task that an agent asked for has the approval of the agent's own.
func (s *State) Approval(t *Task) bool {
	for t.Parent != "" {
		t = s.Tasks[t.Parent]
	}
	return s.Plans[t.Plan].Follows != "" || s.Approved > t.Plan || s.Spec.AutoApprove || s.Plans[t.Plan].By == ByFile
}

// PlanWrites reports whether any task of the plan with the given index changes files.
func (s *State) PlanWrites(plan int) bool { return s.writes[plan] }

// Writes reports whether any task of a plan changes files.
func (s *Spec) Writes(plan PlanData) bool {
	return slices.ContainsFunc(plan.Tasks, func(t spec.Task) bool {
		role := s.Roles[t.Role]
		return role.ChangesFiles()
	})
}

// Members are the tasks that a reference names: the task itself, or the shards of a template.
func (s *State) Members(ref string) []string {
	if s.Tasks[ref] != nil {
		return []string{ref}
	}
	return s.Shards[ref]
}

// Quiet reports whether every task has ended and nothing is on the queue.
func (s *State) Quiet() bool {
	all, _ := s.Queue.AtWork()
	return all+s.Queue.Waiting() == 0 && s.TasksEnded()
}

// TasksEnded reports whether every task has ended.
func (s *State) TasksEnded() bool { return len(s.open) == 0 }

// NothingGivenUp reports whether no planned task was given up. A task that an agent had asked for does not count: that agent
// reports it.
func (s *State) NothingGivenUp() bool { return s.givenUp == 0 }

// ReasonBudget is why a run that has spent its budget stops.
const ReasonBudget = "the budget is spent"

// NeedsModel reports whether what is left to do may cost tokens.
func (s *State) NeedsModel() bool {
	if s.Spec.Plan == nil && !s.Master.Done {
		return true
	}
	return slices.ContainsFunc(s.open, func(t *Task) bool { return s.Spec.Spends(t.Task.Role) || s.Spec.Spends(s.Judge(t)) })
}

// StoppedByBudget reports whether a stopped run may continue only with a larger budget.
func (s *State) StoppedByBudget() bool {
	return s.Status == Stopped && strings.HasPrefix(s.Reason, ReasonBudget)
}
