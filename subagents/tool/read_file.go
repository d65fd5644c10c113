package tool

import (
	"context"
	_ "embed"

	"divisi/internal/spec"

	// for the description.

	"google.golang.org/genai"
)

//go:embed read_file.md
var readFileText string

type readFile struct{ files *tree }

// Declaration is what the model is told.
func (t *readFile) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: spec.ToolReadFile, Description: readFileText,
		ParametersJsonSchema: object(properties{
			"path":       property("string", "File to read, relative to the top."),
			"start_line": property("integer", "First line to show, from 1. Default 1."),
			"end_line":   property("integer", "Last line to show. Default: the last."),
		}, "path"),
	}
}

// Effect is Reads: it only looks.
func (t *readFile) Effect(Call) Effect { return Reads }

// Doing names what the call is about.
func (t *readFile) Doing(call Call) string { return "reading " + call.text("path") }

// Run carries out one call.
func (t *readFile) Run(_ context.Context, call Call) Result {
	name := call.text("path")
	data, _, err := t.files.read(name, maxFile)
	if err != nil {
		return Failed("%s", err)
	}
	if binary(data) {
		return Failed("%s is a binary file of %d bytes and cannot be shown: use run_command with a program that understands it",
			name, len(data))
	}
	return Text(view(data, call.number("start_line", 1), call.number("end_line", 0)))
}
