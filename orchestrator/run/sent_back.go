package run

import (
	"slices"

	"divisi/contextscope"
	"divisi/subagents/wire"
)

// sendBack folds that a person sent a plan that waits for approval back to the master, with words that are a message to it.
// Nothing of the plan had started: its tasks are removed, so that a new plan can use their ids.
func (s *State) sendBack(e *contextscope.Event, plan int, words string) {
	s.Messages.add(&Message{Control: wire.Control{
		ID: e.ID, Verb: wire.ControlSteer, Task: MasterTask, From: wire.FromUser, Text: words + sentBack,
	}, Pos: e.Pos})
	s.Withdraw(plan)
}

// sentBack is what the master reads behind the words of the person.
const sentBack = "\n\nWith these words your plan was sent back, and nothing of it was started. Its tasks no longer exist: " +
	"dispatch a new plan."

// Withdraw removes the tasks of a plan that waits for approval, and with them the pending tasks of later plans that wait for one
// of them.
func (s *State) Withdraw(plan int) {
	if plan < 0 || plan >= len(s.Plans) {
		return
	}
	s.toApprove = slices.DeleteFunc(s.toApprove, func(at int) bool { return at == plan })
	s.Plans[plan], s.writes[plan] = PlanData{By: s.Plans[plan].By}, false
	s.drop(func(t *Task) bool { return t.Plan == plan })
	s.dropOrphans()
}

// Edit is a plan that a person edited, by its index, and where in the log that was.
type Edit struct {
	Plan int
	Pos  uint64
}

// replace folds that a person edited a plan that waits for approval: other tasks take the place of its own. Tasks of later plans
// that wait for one that it no longer has are removed, as if the plan had been sent back.
func (s *State) replace(e *contextscope.Event, d PlanData) {
	at := d.Replaces - 1
	if at >= len(s.Plans) {
		return
	}
	s.Plans[at], s.writes[at] = d, s.Spec.Writes(d)
	if !s.writes[at] {
		s.toApprove = slices.DeleteFunc(s.toApprove, func(plan int) bool { return plan == at })
	}
	s.drop(func(t *Task) bool { return t.Plan == at })
	s.addTasks(at, d.Tasks)
	s.dropOrphans()
	s.Edits = append(s.Edits, Edit{Plan: at, Pos: e.Pos})
}

// dropOrphans removes the pending tasks that wait for a task that no plan has, until there is none.
func (s *State) dropOrphans() {
	orphan := func(t *Task) bool {
		return t.State == TaskPending && slices.ContainsFunc(t.After, func(ref string) bool {
			_, _, known := s.Depends(ref)
			return !known
		})
	}
	for s.drop(orphan) {
	}
}

// drop removes the tasks that a function names, and reports whether there was one.
func (s *State) drop(which func(*Task) bool) bool {
	had := len(s.Order)
	for _, id := range s.Order {
		if t := s.Tasks[id]; which(t) {
			s.forget(t)
		}
	}
	gone := func(id string) bool { return s.Tasks[id] == nil }
	s.Order = slices.DeleteFunc(s.Order, gone)
	for template, ids := range s.Shards {
		if s.Shards[template] = slices.DeleteFunc(ids, gone); len(s.Shards[template]) == 0 {
			delete(s.Shards, template)
		}
	}
	return len(s.Order) < had
}

// forget removes a task that never started, but for its name in the lists of all.
func (s *State) forget(t *Task) {
	s.remove(t)
	delete(s.Tasks, t.Task.ID)
	same := func(other *Task) bool { return other == t }
	s.ended = slices.DeleteFunc(s.ended, same)
	if template := t.Task.ShardOf; s.shardsLost[template] == t {
		delete(s.shardsLost, template)
	}
	s.leave(t)
}
