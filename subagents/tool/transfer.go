package tool

import (
	"context"
	_ "embed"
	"strings"

	"divisi/internal/spec"
	"divisi/subagents/wire"

	"google.golang.org/genai"
)

//go:embed transfer.md
var transferText string

// transfer hands the agent's own task over.
type transfer struct {
	requests
	roles []wire.Callee
}

// Declaration is what the model is told.
func (t *transfer) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: spec.ToolTransfer, Description: transferText + callees(t.roles),
		ParametersJsonSchema: object(properties{
			"role":  property("string", "The role that takes the task over."),
			"brief": property("string", "Why, where the work stands, and what is left to do."),
		}, "role", "brief"),
	}
}

// Doing names what the call is about.
func (t *transfer) Doing(call Call) string { return "hands its task over to " + call.text("role") }

// Run carries out one call. When the task is handed over the attempt is over.
func (t *transfer) Run(ctx context.Context, call Call) Result {
	brief := strings.TrimSpace(call.text("brief"))
	return t.request(ctx, call, wire.Request{
		Kind: wire.RequestTransfer, Role: call.text("role"), Brief: brief,
	}, func(wire.Answer) Result {
		r := Text("the task was handed over to " + call.text("role") + "; your work on it is over")
		r.Ends, r.HandedOver, r.Submit = true, true, &spec.Handoff{Summary: brief}
		return r
	})
}
