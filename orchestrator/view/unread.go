package view

import (
	"divisi/internal/text"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
)

// UnreadFiles are files that no gate read as their kind needs, of one directory for one reason.
type UnreadFiles = proof.UnreadGroup

// Unread lists the unread files that have landed: those that make their tasks unverified, and those that are only told, such as
// prose.
func Unread(s *run.State) (unverified, told []UnreadFiles) {
	asked, rest := proof.UnreadLanded(&s.Tasks, &s.Batches)
	return proof.GroupUnread(asked), proof.GroupUnread(rest)
}

// AddedGate is a gate that a person added to the run. Dropped is why it is none any more.
type AddedGate struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
	By      string   `json:"by"`
	Dropped string   `json:"dropped,omitempty"`
}

// String is the gate in one line.
func (g AddedGate) String() string {
	line := g.Name + ", added by " + g.By + ": " + text.CommandLine(g.Command)
	if g.Dropped != "" {
		line += "; it proves nothing, and is no gate of the run any more: " + g.Dropped
	}
	return text.OneLine(line)
}

func addedGates(s *run.State) (list []AddedGate) {
	for _, g := range s.Spec.Added {
		list = append(list, AddedGate{g.Name, g.Command, g.By, g.Dropped})
	}
	return list
}
