package tool

import (
	"context"
	_ "embed"
	"strings"

	"divisi/internal/spec" // for the description.

	"google.golang.org/genai"
)

//go:embed report_progress.md
var reportProgressText string

// maxReport is the longest line, in characters, that is shown to people.
const maxReport = 120

// reportProgress hands lines to report, which may be nil.
type reportProgress struct{ report func(line string) }

// Declaration is what the model is told.
func (t *reportProgress) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: spec.ToolReportProgress, Description: reportProgressText,
		ParametersJsonSchema: object(properties{"text": property("string", "One line of plain text.")}, "text"),
	}
}

// Effect is Reads: no other call sees it.
func (t *reportProgress) Effect(Call) Effect { return Reads }

// Doing is the report itself.
func (t *reportProgress) Doing(call Call) string { return call.text("text") }

// Run carries out one call.
func (t *reportProgress) Run(_ context.Context, call Call) Result {
	line := strings.TrimSpace(short(printable(call.text("text")), maxReport))
	if line == "" {
		return Failed("the text is empty: say in one line where you are")
	}
	if t.report != nil {
		t.report(line)
	}
	return Text("told")
}
