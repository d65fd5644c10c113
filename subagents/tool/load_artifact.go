package tool

import (
	"context"
	_ "embed"

	"divisi/internal/spec"

	// for the description.

	"google.golang.org/genai"
)

//go:embed load_artifact.md
var loadArtifactText string

type loadArtifact struct{ store ArtifactReader }

// reader is the store as something to read from, or nil.
func reader(a Artifacts) ArtifactReader {
	r, _ := a.(ArtifactReader)
	return r
}

// Declaration is what the model is told.
func (t *loadArtifact) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: spec.ToolLoadArtifact, Description: loadArtifactText,
		ParametersJsonSchema: object(properties{
			"handle":     property("string", "The handle, exactly as it was given."),
			"start_line": property("integer", "First line to show, from 1. Default 1."),
			"end_line":   property("integer", "Last line to show. Default: the last."),
		}, "handle"),
	}
}

// ReadOnly is true: it only looks.
func (t *loadArtifact) ReadOnly() bool { return true }

// Doing names what the call is about.
func (t *loadArtifact) Doing(call Call) string { return "reading artifact " + call.text("handle") }

// Run carries out one call.
func (t *loadArtifact) Run(ctx context.Context, call Call) Result {
	handle := call.text("handle")
	if t.store == nil {
		return Failed("no artifacts are kept here: repeat the call with a narrower question")
	}
	data, err := t.store.Get(ctx, handle)
	if err != nil {
		return Failed("artifact %q cannot be read: %v. Give the handle exactly as it stood there", short(handle, 200), err)
	}
	if binary(data) {
		return Failed("artifact %q is binary (%d bytes) and cannot be shown", short(handle, 200), len(data))
	}
	return Text(view(data, call.number("start_line", 1), call.number("end_line", 0)))
}
