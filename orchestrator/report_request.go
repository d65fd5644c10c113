package orchestrator

import (
	"fmt"
	"strings"

	"divisi/subagents/wire"
)

// QuestionReport is a question that an agent waits with.
type QuestionReport struct {
	Task     string   `json:"task"`
	Agent    string   `json:"agent"`
	Question string   `json:"question"`
	Options  []string `json:"options,omitempty"`
	// Master says that the master was asked, and not a person.
	Master bool `json:"master,omitempty"`
}

// MessageReport is a message that a task was told.
type MessageReport struct {
	From     string    `json:"from"`
	Text     string    `json:"text"`
	Receipts []Receipt `json:"receipts,omitempty"`
}

// ScopeReport is what an agent asked to write in vain: work that may have to follow.
type ScopeReport struct {
	Paths  []string `json:"paths"`
	Reason string   `json:"reason"`
	Why    string   `json:"why"`
}

func (s *State) questions() []QuestionReport {
	var out []QuestionReport
	for _, q := range s.open() {
		if q.Kind == wire.RequestAsk {
			out = append(out, QuestionReport{
				Task: q.AskedBy(), Agent: q.Agent(), Question: q.Question, Options: q.Options, Master: s.forMaster(q),
			})
		}
	}
	return out
}

// tellRequests adds what a task has to do with others.
func (s *State) tellRequests(t *TaskReport, v *TaskView) {
	t.Parent, t.Delegated = v.Parent, s.delegated(v.Task.ID, 0)
	for _, id := range s.Asked {
		q := s.Requests[id]
		if q.Of != v.Task.ID {
			continue
		}
		if q.Child != "" {
			t.Children = append(t.Children, q.Child)
		}
		if s.alive(q) {
			t.Waits = append(t.Waits, q.waitsFor())
		}
		if q.Kind == wire.RequestScope && q.Answer != nil && q.Answer.Refused != "" {
			t.Refused = append(t.Refused, ScopeReport{Paths: q.Paths, Reason: q.Reason, Why: q.Answer.Refused})
		}
	}
	for _, m := range s.Messages {
		if m.Task == v.Task.ID {
			t.Messages = append(t.Messages, MessageReport{From: m.From, Text: m.Text, Receipts: m.Receipts})
		}
	}
}

// waitsFor says in words what an open request waits for.
func (q *RequestView) waitsFor() string {
	switch {
	case q.Child != "":
		return q.Child
	case q.Kind == wire.RequestAsk:
		return "an answer: " + line(q.Question)
	case q.Kind == wire.RequestScope:
		return "write access: " + strings.Join(q.Paths, ", ")
	default:
		return fmt.Sprintf("%s %s", q.Kind, q.Role+q.Task)
	}
}
