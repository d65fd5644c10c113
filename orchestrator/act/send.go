package act

import (
	"cmp"

	"divisi/orchestrator/decision"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// Send sends a message to the agent of a task, or to the master of the run. Where an agent waits for an answer, or a patch for a
// decision, it is the answer.
type Send struct {
	Task string `json:"task,omitempty" jsonschema:"The id of the task whose agent gets it; left out, the master of the run."`
	Text string `json:"text" jsonschema:"The message, in words for the agent: at most 32768 bytes."`
}

// Act implements Args.
func (Send) Act() string { return "send" }

var _ = define(Entry{
	Holds: true,
	Label: "Send a message",
	Fits: func(s *run.State, t *run.Task) bool {
		return t == nil && s.Works[run.MasterTask] != nil || t != nil && !t.Ended()
	},
	Help: "Send a message to the agent of a task, named by task, or to the master of the run. Where an agent waits for an " +
		"answer, or a patch for a decision, it is the answer: a patch is rejected with it.",
	Who: Local | Owner, On: Running | AtRest, Undo: "take_back", Until: "the run acts on it; a message that is no answer stays",
}, func(s *run.State, a Send, by string) ([]run.Action, string, error) {
	actions, outcome, err := decision.TakeAbout(s, cmp.Or(a.Task, run.MasterTask), run.Answer{Text: a.Text, By: by})
	if len(actions) > 0 || err != nil {
		return actions, outcome, err
	}
	return request.Send(&s.Agenda, &s.Agents, a.Task, a.Text, by)
})
