package act

import (
	"divisi/orchestrator/decision"
	"divisi/orchestrator/run"
)

// TakeBack takes back the answer to a decision, as long as the run has not acted on it. One that stands for others too stands for
// no other any more.
type TakeBack struct {
	Decision string `json:"decision" jsonschema:"The id of the decision."`
}

// Act implements Args.
func (TakeBack) Act() string { return "take_back" }

var _ = define(Entry{
	Called: "decide", Key: "u",
	Help: "Take the answer to a decision back, until the run has acted on it.",
	Who:  Local | Owner, On: Running | AtRest, Undo: "decide", Doors: Command | API | Page,
}, func(s *run.State, a TakeBack, by string) ([]run.Action, string, error) {
	return decision.TakeBack(s, a.Decision, by)
})
