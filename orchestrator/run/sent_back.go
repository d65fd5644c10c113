package run

import (
	"slices"

	"divisi/contextscope"
	"divisi/subagents/wire"
)

// sendBack folds that a person sent a plan that waits for approval back to the master, with words that are a message to it.
// Nothing of the plan had started: its tasks are removed, so that a new plan can use their ids, and with them the pending tasks
// of later plans that wait for one of them.
func (s *State) sendBack(e *contextscope.Event, plan int, words string) {
	m := &Message{Control: wire.Control{
		ID: e.ID, Verb: wire.ControlSteer, Task: MasterTask, From: wire.FromUser, Text: words + sentBack,
	}, Pos: e.Pos}
	s.Messages, s.messages[MasterTask] = append(s.Messages, m), append(s.messages[MasterTask], m)
	if plan < 0 || plan >= len(s.Plans) {
		return
	}
	s.toApprove = slices.DeleteFunc(s.toApprove, func(at int) bool { return at == plan })
	s.Plans[plan] = PlanData{By: s.Plans[plan].By}
	for _, t := range s.waitFor(plan) {
		s.forget(t)
	}
	gone := func(id string) bool { return s.Tasks[id] == nil }
	s.Order = slices.DeleteFunc(s.Order, gone)
	for template, ids := range s.Shards {
		if s.Shards[template] = slices.DeleteFunc(ids, gone); len(s.Shards[template]) == 0 {
			delete(s.Shards, template)
		}
	}
}

// sentBack is what the master reads behind the words of the person.
const sentBack = "\n\nWith these words your plan was sent back, and nothing of it was started. Its tasks no longer exist: " +
	"dispatch a new plan."

// waitFor returns the tasks of a plan, and the pending tasks that wait for one of them, directly or through others.
func (s *State) waitFor(plan int) (out []*Task) {
	named := map[string]bool{}
	for more := true; more; {
		more = false
		for _, id := range s.Order {
			t := s.Tasks[id]
			waits := t.State == TaskPending && slices.ContainsFunc(t.After, func(ref string) bool { return named[ref] })
			if !named[id] && (t.Plan == plan || waits) {
				named[id], more, out = true, true, append(out, t)
				named[t.Task.ShardOf] = named[t.Task.ShardOf] || t.Task.ShardOf != ""
			}
		}
	}
	return out
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
