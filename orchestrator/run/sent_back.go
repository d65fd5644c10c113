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

// sentBack follows the words of the person for the master.
const sentBack = "\n\nWith these words your plan was sent back, and nothing of it was started. Its tasks no longer exist: " +
	"dispatch a new plan."
