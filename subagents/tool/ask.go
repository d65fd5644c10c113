package tool

import (
	"context"
	_ "embed"
	"strings"

	"divisi/internal/spec"
	"divisi/subagents/wire"

	"google.golang.org/genai"
)

//go:embed ask.md
var askText string

// ask puts a question to the master or a person.
type ask struct{ requests }

// Declaration is what the model is told.
func (t *ask) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: spec.ToolAsk, Description: askText,
		ParametersJsonSchema: object(properties{
			"question": property("string", "The question, with what somebody needs to know who has not seen your work."),
			"options":  textList("The answers to choose from, where there are only a few."),
		}, "question"),
	}
}

// AwaitsDecision implements Asker.
func (t *ask) AwaitsDecision() string { return "an answer of the master or a person" }

// Doing names what the call is about.
func (t *ask) Doing(call Call) string { return "asks: " + call.text("question") }

// Run carries out one call.
func (t *ask) Run(ctx context.Context, call Call) Result {
	question := strings.TrimSpace(call.text("question"))
	if question == "" {
		return Failed("the question is empty")
	}
	return t.request(ctx, call, wire.Request{
		Kind: wire.RequestAsk, Question: question, Options: call.texts("options"),
	}, func(a wire.Answer) Result {
		r := Text(a.Text)
		r.Output["from"] = a.From
		return r
	})
}
