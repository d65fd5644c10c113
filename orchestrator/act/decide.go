package act

import (
	"context"

	"divisi/orchestrator/decision"
	"divisi/orchestrator/run"
)

// Decide answers an open decision.
type Decide struct {
	Decision string `json:"decision" jsonschema:"The id of the decision."`
	Option   string `json:"option" jsonschema:"The name of one of its options."`
	Attempt  int    `json:"attempt,omitempty" jsonschema:"The attempt that you were shown; an answer to another one is refused."`
	Text     string `json:"text,omitempty" jsonschema:"The words that the option needs: a reason, or the answer to a question."`
	Task     string `json:"task,omitempty" jsonschema:"The task whose patch is meant, where the decision is about several."`
	Alike    bool   `json:"alike,omitempty" jsonschema:"With accept: also each other patch of the run that is alike, held now or later."`
}

// Act implements Args.
func (Decide) Act() string { return "decide" }

var _ = defineWith(Entry{
	Holds: true,
	Help:  "Answer an open decision.",
	Who:   Local | Owner, On: Running | AtRest, Undo: "take_back", Until: "the run acts on it", Loses: true,
}, func(ctx context.Context, h Hands, s *run.State, a Decide, by string) ([]run.Action, string, error) {
	answer := run.Answer{
		ID: a.Decision, Option: a.Option, Attempt: a.Attempt, Text: a.Text, Of: a.Task, Alike: a.Alike, By: by,
	}
	if !a.Alike {
		return decision.Take(s, answer)
	}
	shape, err := h.Shape(ctx, a.Decision)
	if err != nil {
		return nil, "", err
	}
	return decision.Stand(s, answer, shape)
})
