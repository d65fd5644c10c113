package run

import (
	"slices"
	"strings"
	"time"

	"divisi/contextscope"
	"divisi/internal/spec"
)

const (
	// ReasonHalt begins the reason of a run that waits for its machine.
	ReasonHalt = "paused: "
	// ReasonWaits begins the reason of a run that waits for a person where no person watches.
	ReasonWaits = "waits for "
	// ReasonPreflight is in the reason of a run that could not begin: its setup or its gates could not be run at all.
	ReasonPreflight = "the repository is not ready for a run"
	// ReasonBudget is why a run that has spent its budget stops.
	ReasonBudget = "the budget is spent"
)

// Agenda is the goal of a run, and its progress.
type Agenda struct {
	Spec   Spec
	Status Status
	Reason string
	// Passed are the statuses that the run has had. Ended is when it ended; zero while it continues.
	Passed map[Status]bool
	Ended  time.Time
	// Wait describes the person's task that the run waits for.
	Wait Wait
	// Line is why the line was stopped: nothing is dispatched, and nothing lands; empty where it goes.
	Line      string
	Times     Times
	Plans     Plans
	Tasks     Tasks
	Templates Templates
}

func newAgenda() Agenda {
	return Agenda{Passed: map[Status]bool{}, Tasks: newTasks(), Times: Times{Entered: map[Status]time.Duration{}}}
}

// addTasks adds the tasks of a plan.
func (s *Agenda) addTasks(plan int, tasks []spec.Task) {
	for _, t := range tasks {
		if _, twice := s.Tasks.ByID[t.ID]; twice {
			continue
		}
		v := &Task{Task: t, Plan: plan, State: TaskPending, After: t.Dependencies(), place: s.Tasks.placed}
		if drop := s.Plans.All[plan].Drop; drop != nil {
			v.Drops = drop.Tasks
		}
		if p := &s.Plans.All[plan]; t.ShardOf == "" && p.Request == "" && p.Follows == "" {
			v.Named = t.Files
		}
		s.Tasks.placed++
		s.Tasks.ByID[t.ID] = v
		s.Tasks.Order = append(s.Tasks.Order, t.ID)
		if len(t.Mends) > 0 {
			s.Tasks.mending = append(s.Tasks.mending, t.ID)
		}
		s.Tasks.join(v)
		s.Tasks.add(v)
		if t.ShardOf != "" {
			s.Tasks.Shards[t.ShardOf] = append(s.Tasks.Shards[t.ShardOf], t.ID)
		}
	}
}

// Constraints are all that hold for a task: the run's, those of the tasks whose agents had it dispatched, the widest first, and
// its own. They go to every descendant word for word.
func (s *Agenda) Constraints(t *Task) []string {
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
func (s *Agenda) Judge(t *Task) string {
	return t.Task.Judge(s.Spec.RoleOn(t, t.Choice.At), s.Spec.Roles, len(s.Constraints(t)) > 0)
}

// Approval reports whether the task's plan was approved; a task that an agent asked for has the approval of the agent's own.
func (s *Agenda) Approval(t *Task) bool {
	for t.Parent != "" {
		t = s.Tasks.ByID[t.Parent]
	}
	p := &s.Plans.All[t.Plan]
	return p.Follows != "" || s.Plans.Approved > t.Plan || s.Spec.AutoApprove || p.ofPerson()
}

// Halted reports whether a run waits for its machine.
func (s *Agenda) Halted() bool { return !s.Status.Ended() && strings.HasPrefix(s.Reason, ReasonHalt) }

// StoppedByBudget reports whether a stopped run may continue only with a larger budget.
func (s *Agenda) StoppedByBudget() bool {
	return s.Status == Stopped && strings.HasPrefix(s.Reason, ReasonBudget)
}

// Withdraw removes the tasks of a plan that waits for approval, and with them the pending tasks of later plans that wait for one
// of them.
func (s *Agenda) Withdraw(plan int) {
	if plan < 0 || plan >= len(s.Plans.All) {
		return
	}
	s.Plans.withdraw(plan)
	s.Tasks.drop(func(t *Task) bool { return t.Plan == plan })
	s.Tasks.dropOrphans()
}

// replace folds that a person edited a plan that waits for approval: other tasks take the place of its own. Tasks of later plans
// that wait for one that it no longer has are removed, as if the plan had been sent back.
func (s *Agenda) replace(e *contextscope.Event, d PlanData) {
	at := d.Replaces - 1
	if at >= len(s.Plans.All) {
		return
	}
	s.Plans.replace(at, d, &s.Spec, e.Pos)
	s.Tasks.drop(func(t *Task) bool { return t.Plan == at })
	s.addTasks(at, d.Tasks)
	s.Tasks.dropOrphans()
}

// Mending lists the tasks that mend a gate, in plan order, and those of the plan file while that is not expanded yet.
func (s *Agenda) Mending(gate string) (ids []string) {
	if len(s.Plans.All) == 0 && s.Spec.Plan != nil {
		for _, t := range s.Spec.Plan.WithMends().Tasks {
			if slices.Contains(t.Mends, gate) {
				ids = append(ids, t.ID)
			}
		}
	}
	for _, id := range s.Tasks.mending {
		if t := s.Tasks.ByID[id]; t != nil && slices.Contains(t.Task.Mends, gate) {
			ids = append(ids, id)
		}
	}
	return ids
}

// unmetered reports whether the newest delivery of an attempt by a coding agent has begun, and has left neither figures nor
// a result.
func (s *Agenda) unmetered(a *Attempt) bool {
	role := s.Spec.Roles[a.Role]
	return role.Usage != "" && len(role.Chain) == 0 && a.Started && !a.metered && a.Result == nil
}

// meter begins to count what the next delivery of an attempt uses.
func (s *Agenda) meter(a *Attempt) {
	if s.unmetered(a) {
		a.Unmetered++
	}
	a.metered = false
}
