package tool

import (
	"context"
	_ "embed"
	"strings"

	"divisi/internal/spec"
	"divisi/subagents/wire"

	"google.golang.org/genai"
)

//go:embed request_scope.md
var requestScopeText string

// requestScope asks for more of the repository to write.
type requestScope struct {
	requests
	scope *Scope
}

// Declaration is what the model is told.
func (t *requestScope) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: spec.ToolRequestScope, Description: requestScopeText,
		ParametersJsonSchema: object(properties{
			"paths":  textList("The paths, or globs, that you need to write, and no more than those."),
			"reason": property("string", "Why the task cannot be done without them."),
		}, "paths", "reason"),
	}
}

// AwaitsDecision implements Asker.
func (t *requestScope) AwaitsDecision() string { return "a larger write set" }

// Doing names what the call is about.
func (t *requestScope) Doing(call Call) string {
	return "asks to write " + strings.Join(call.texts("paths"), ", ")
}

// Run carries out one call. What was granted can be written from then on.
func (t *requestScope) Run(ctx context.Context, call Call) Result {
	return t.request(ctx, call, wire.Request{
		Kind: wire.RequestScope, Paths: call.texts("paths"), Reason: call.text("reason"),
	}, func(a wire.Answer) Result {
		t.scope.Grow(a.Granted...)
		return Text(a.Text)
	})
}
