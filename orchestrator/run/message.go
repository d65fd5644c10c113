package run

import (
	"slices"

	"divisi/contextscope"
	"divisi/subagents/wire"
)

// Messages are those to tasks and to the master.
type Messages struct {
	// All are in the order of the log, to has those to each task; Late are those that no agent received before their task ended
	// well, and that were not reported yet: a run event that names their task reports them.
	All  []*Message
	to   map[string][]*Message
	Late []*Message
}

// Message is a message to the agents of a task, or to the master.
type Message struct {
	wire.Control

	Pos uint64
	// Receipts are of the agents that received it, in the order of the log.
	Receipts []Receipt
}

// Receipt records the turn before which an agent received a message.
type Receipt struct {
	Agent string `json:"agent"`
	Turn  int    `json:"turn"`
}

// ReachedAgent reports whether an agent has a message.
func (m *Message) ReachedAgent(agent string) bool {
	return slices.ContainsFunc(m.Receipts, func(r Receipt) bool { return r.Agent == agent })
}

func (m *Messages) add(one *Message) {
	m.All, m.to[one.Task] = append(m.All, one), append(m.to[one.Task], one)
}

// received folds that an agent received a message before a turn.
func (m *Messages) received(e *contextscope.Event, id string, turn int) {
	for _, one := range m.to[e.Task] {
		if one.ID == id {
			one.Receipts = append(one.Receipts, Receipt{Agent: e.Agent, Turn: turn})
		}
	}
}

// ended folds that a task ended well: what no agent of it received came too late.
func (m *Messages) ended(task string) {
	for _, one := range m.to[task] {
		if len(one.Receipts) == 0 {
			m.Late = append(m.Late, one)
		}
	}
}

// reported folds that it was reported what came too late for a task.
func (m *Messages) reported(task string) {
	m.Late = slices.DeleteFunc(m.Late, func(one *Message) bool { return one.Task == task })
}

// To returns the messages to a task, or to the master, behind a position of the log, oldest first. It is not to be
// changed.
func (m *Messages) To(task string, from uint64) []*Message {
	all := m.to[task]
	i := len(all)
	for i > 0 && all[i-1].Pos > from {
		i--
	}
	return all[i:]
}
