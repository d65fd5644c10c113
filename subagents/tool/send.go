package tool

import (
	"context"
	_ "embed"

	"divisi/subagents/wire"

	"google.golang.org/genai"
)

//go:embed send.md
var sendText string

// Send is the name of the tool with which who plans speaks to agents. It is not listed: who has dispatch has it.
const Send = "send"

// send puts a message to the agent of a task.
type send struct{ requests }

// Declaration is what the model is told.
func (t *send) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: Send, Description: sendText,
		ParametersJsonSchema: object(properties{
			"task": property("string", "The id of the task."),
			"text": property("string", "What it is told, or the answer."),
		}, "task", "text"),
	}
}

// Doing names what the call is about.
func (t *send) Doing(call Call) string { return "writes to " + call.text("task") }

// Run carries out one call.
func (t *send) Run(ctx context.Context, call Call) Result {
	return t.request(ctx, call, wire.Request{
		Kind: wire.RequestSend, Task: call.text("task"), Text: call.text("text"),
	}, func(a wire.Answer) Result { return Text(a.Text) })
}
