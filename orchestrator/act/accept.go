package act

import (
	"divisi/orchestrator/decision"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// Accept lets the held patch of a task go on.
type Accept struct {
	Task    string `json:"task" jsonschema:"The id of the task."`
	Attempt int    `json:"attempt,omitempty" jsonschema:"The attempt that you were shown; left out, the newest."`
}

// Act implements Args.
func (Accept) Act() string { return "accept" }

var _ = define(Entry{
	Holds: true,
	Help:  "Accept the held patch of a task: the gates test it next.",
	Who:   Local | Owner, On: Running | AtRest, Undo: "take_back", Until: "the run acts on it", Doors: Command,
}, func(s *run.State, a Accept, by string) ([]run.Action, string, error) {
	answer := run.Answer{Option: run.Accept, Attempt: a.Attempt, By: by}
	actions, outcome, err := decision.TakeAbout(s, a.Task, answer)
	if len(actions) > 0 || err != nil {
		return actions, outcome, err
	}
	actions, err = request.Accept(&s.Agenda, s.Works, a.Task, answer) // which tells why not
	return actions, "the patch of " + a.Task + " goes on", err
})
