package act

import (
	"divisi/orchestrator/decision"
	"divisi/orchestrator/run"
)

// Apply ends the time for which the run holds back an answer, a message, or tasks to skip.
type Apply struct {
	Decision string `json:"decision" jsonschema:"The id of the decision, or of the act that is held back."`
}

// Act implements Args.
func (Apply) Act() string { return "apply" }

var _ = define(Entry{
	Called: "decide", Key: "a", Label: "Apply now",
	Help: "Have the run act at once on what it holds back.",
	Who:  Local | Owner, On: Running | AtRest, Doors: Command | API | Page,
}, func(s *run.State, a Apply, _ string) ([]run.Action, string, error) {
	return decision.Apply(s, a.Decision)
})
