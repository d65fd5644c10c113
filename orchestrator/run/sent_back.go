package run

import (
	"divisi/contextscope"
	"divisi/subagents/wire"
)

// sendBack folds that a person sent a plan that waits for approval back to the master, with words that are a message to it.
// Nothing of the plan had started: its tasks are removed, so that a new plan can use their ids.
func (s *State) sendBack(e *contextscope.Event, plan int, words, by string) {
	s.Messages.add(&Message{Control: wire.Control{
		ID: e.ID, Verb: wire.ControlSteer, Task: MasterTask, From: by, Text: words + sentBack,
	}, Pos: e.Pos})
	s.Withdraw(plan)
}

// sentBack is what the master reads behind the words of the person.
const sentBack = "\n\nWith these words your plan was sent back, and nothing of it was started. Its tasks no longer exist: " +
	"dispatch a new plan."

// Withdraw removes the tasks of a plan that waits for approval, and with them the pending tasks of later plans that wait for one
// of them.
func (s *State) Withdraw(plan int) {
	if plan < 0 || plan >= len(s.Plans.All) {
		return
	}
	s.Plans.withdraw(plan)
	s.Tasks.drop(func(t *Task) bool { return t.Plan == plan })
	s.Tasks.dropOrphans()
}

// replace folds that a person edited a plan that waits for approval: other tasks take the place of its own. Tasks of later plans
// that wait for one that it no longer has are removed, as if the plan had been sent back.
func (s *State) replace(e *contextscope.Event, d PlanData) {
	at := d.Replaces - 1
	if at >= len(s.Plans.All) {
		return
	}
	s.Plans.replace(at, d, &s.Spec, e.Pos)
	s.Tasks.drop(func(t *Task) bool { return t.Plan == at })
	s.addTasks(at, d.Tasks)
	s.Tasks.dropOrphans()
}
