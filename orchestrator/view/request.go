package view

import (
	"fmt"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Message is a message that was sent to a task.
type Message struct {
	From     string        `json:"from"`
	Text     string        `json:"text"`
	Receipts []run.Receipt `json:"receipts,omitempty"`
}

// Scope is write access that an agent did not get: work that may have to follow.
type Scope struct {
	Paths  []string `json:"paths"`
	Reason string   `json:"reason"`
	Why    string   `json:"why"`
}

// tellRequests adds the requests and messages of a task.
func tellRequests(s *run.State, t *Task, v *run.Task) {
	t.Parent, t.Delegated = v.Parent, s.Requests.Delegated(v.Task.ID, s.Works)
	for _, q := range s.Requests.Of[v.Task.ID] {
		if q.Child != "" {
			t.Children = append(t.Children, q.Child)
		}
		if s.Alive(q, &s.Tasks) && !q.Begun && q.Kind != wire.RequestWait {
			t.Waits = append(t.Waits, waitsFor(q))
		}
		if q.Kind == wire.RequestScope && q.Answer != nil && q.Answer.Refused != "" {
			t.Refused = append(t.Refused, Scope{Paths: q.Paths, Reason: q.Reason, Why: q.Answer.Refused})
		}
	}
	for _, m := range s.Messages.To(v.Task.ID, 0) {
		t.Messages = append(t.Messages, Message{From: m.From, Text: m.Text, Receipts: m.Receipts})
	}
}

// waitsFor words the wait of an open request.
func waitsFor(q *run.Request) string {
	switch {
	case q.Child != "":
		return q.Child
	case q.Kind == wire.RequestAsk:
		return "an answer: " + text.Line(q.Question)
	case q.Kind == wire.RequestScope:
		return "write access: " + strings.Join(q.Paths, ", ")
	default:
		return fmt.Sprintf("%s %s", q.Kind, q.Role+q.Task)
	}
}
