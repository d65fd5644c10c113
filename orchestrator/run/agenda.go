package run

import (
	"maps"
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
	ReasonBudget   = "the budget is spent"
	reasonUnpriced = "the budget is in money"
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
	for i := range s.Plans.All[plan].Later {
		tasks = append(tasks[:len(tasks):len(tasks)], s.Plans.All[plan].Later[i].Task)
	}
	for _, t := range tasks {
		if had, twice := s.Tasks.ByID[t.ID]; twice {
			if had.Waits() && t.Shard != nil {
				had.Task, had.After = t, t.Dependencies()
			}
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
		if len(t.Mends)+len(t.Through) > 0 {
			s.Tasks.mending = append(s.Tasks.mending, t.ID)
		}
		if v.IsTemplate() {
			s.Tasks.later = append(s.Tasks.later, t.ID)
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
	if of := s.Tasks.ByID[p.Expands]; of != nil && !p.Beyond {
		return s.Approval(of)
	}
	return p.Follows != "" || s.Plans.Approved > t.Plan || s.Spec.AutoApprove || p.ofPerson()
}

// Halted reports whether a run waits for its machine.
func (s *Agenda) Halted() bool { return !s.Status.Ended() && strings.HasPrefix(s.Reason, ReasonHalt) }

// StoppedByBudget reports whether a stopped run may continue only with a larger budget.
func (s *Agenda) StoppedByBudget() bool {
	return s.Status == Stopped && (strings.HasPrefix(s.Reason, ReasonBudget) || strings.HasPrefix(s.Reason, reasonUnpriced))
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
	return s.about(func(t *spec.Task) bool { return slices.Contains(t.Mends, gate) })
}

// Through lists in the same way the tasks that lead through a gate.
func (s *Agenda) Through(gate string) (ids []string) {
	return s.about(func(t *spec.Task) bool { return slices.Contains(t.Through, gate) })
}

// about lists the tasks that mend gates or lead through gates and for which something holds.
func (s *Agenda) about(holds func(*spec.Task) bool) (ids []string) {
	if len(s.Plans.All) == 0 && s.Spec.Plan != nil {
		for _, t := range s.Spec.Plan.WithMends().Tasks {
			if holds(&t) {
				ids = append(ids, t.ID)
			}
		}
	}
	for _, id := range s.Tasks.mending {
		if t := s.Tasks.ByID[id]; t != nil && holds(&t.Task) {
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

// Plans are those of the plan file, of the master and of requests.
type Plans struct {
	All []PlanData
	// Edits are the plans that a person edited, by their index in All, with the position of the edit.
	Edits []Edit
	// Approved counts the plans that a person, or --yes, approved.
	Approved int
	// Writes reports each plan whether a task of it changes files; toApprove are the plans that a person has to approve.
	Writes    []bool
	toApprove []int
}

// Edit is a plan that a person edited, by its index, and where in the log that was.
type Edit struct {
	Plan int
	Pos  uint64
}

// add adds a plan and returns its index.
func (p *Plans) add(d PlanData, spec *Spec) int {
	at := len(p.All)
	p.All, p.Writes = append(p.All, d), append(p.Writes, spec.Writes(d))
	asks := !d.ofPerson() && d.Request == "" && d.Follows == "" && !spec.AutoApprove && (d.Expands == "" || d.Beyond)
	if asks && p.Writes[at] && at >= p.Approved {
		p.toApprove = append(p.toApprove, at)
	}
	return at
}

// approve folds that the first plans are approved.
func (p *Plans) approve(count int) {
	p.Approved = count
	p.toApprove = slices.DeleteFunc(p.toApprove, func(plan int) bool { return plan < count })
}

// withdraw empties a plan that waits for approval.
func (p *Plans) withdraw(at int) {
	p.settle(at)
	p.All[at], p.Writes[at] = PlanData{By: p.All[at].By}, false
}

// replace puts another plan in the place of one that waits for approval.
func (p *Plans) replace(at int, d PlanData, spec *Spec, pos uint64) {
	p.All[at], p.Writes[at] = d, spec.Writes(d)
	if !p.Writes[at] {
		p.settle(at)
	}
	p.Edits = append(p.Edits, Edit{Plan: at, Pos: pos})
}

func (p *Plans) settle(at int) {
	p.toApprove = slices.DeleteFunc(p.toApprove, func(plan int) bool { return plan == at })
}

// ToApprove is the index of the oldest plan that writes and is not approved; -1 when there is none.
func (p *Plans) ToApprove() int {
	if len(p.toApprove) == 0 {
		return -1
	}
	return p.toApprove[0]
}

// Now is a plan as it would start now: with its tasks as they were revised, without those that have ended.
func (p *Plans) Now(at int, tasks *Tasks) PlanData {
	d := p.All[at]
	d.Tasks = nil
	for _, planned := range p.All[at].Tasks {
		if t := tasks.ByID[planned.ID]; t != nil && t.Plan == at && !t.Ended() {
			d.Tasks = append(d.Tasks, t.Task)
		}
	}
	return d
}

// Preview is a plan as a dry run shows it: with the roles of its tasks and of their judges, without instructions.
type Preview struct {
	PlanData
	Roles map[string]spec.Role `json:"roles,omitempty"`
}

// PreviewOf adds to a plan the roles that do and judge its tasks.
func PreviewOf(plan PlanData, roles map[string]spec.Role) Preview {
	p := Preview{PlanData: plan, Roles: maps.Clone(roles)}
	named := map[string]bool{}
	for i := range plan.Tasks {
		t := &plan.Tasks[i]
		named[t.Role], named[p.Judge(t)] = true, true
	}
	maps.DeleteFunc(p.Roles, func(name string, _ spec.Role) bool { return !named[name] })
	for name, role := range p.Roles {
		role.Instruction = ""
		p.Roles[name] = role
	}
	return p
}

// Writes reports whether the work tree of a task becomes a patch: that of a command whose role says that it writes nothing does
// not.
func (p *Preview) Writes(t *spec.Task) bool {
	role := p.Roles[t.Role]
	return role.Writes || slices.ContainsFunc(role.Tools, spec.WritingTool)
}

// Judge is the role that judges the patch of a task; "" for none, and for a task whose role changes nothing.
func (p *Preview) Judge(t *spec.Task) string {
	if !p.Writes(t) {
		return ""
	}
	return t.Judge(p.Roles[t.Role], p.Roles, len(t.Constraints) > 0)
}
