package tool

import (
	"cmp"
	"context"
	_ "embed"

	"divisi/internal/spec" // for the description.

	"google.golang.org/genai"
)

//go:embed git_log.md
var gitLogText string

// The commits of one log.
const (
	defaultLog = 30
	maxLog     = 200
)

type gitLog struct {
	files   *tree
	history History
}

// Declaration is what the model is told.
func (t *gitLog) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: spec.ToolGitLog, Description: gitLogText,
		ParametersJsonSchema: object(properties{
			"path":  property("string", "Only commits that changed this file or directory. Default: all."),
			"limit": property("integer", "How many commits. Default 30, at most 200."),
		}),
	}
}

// Effect is Reads: it only looks.
func (t *gitLog) Effect(Call) Effect { return Reads }

// Doing names what the call is about.
func (t *gitLog) Doing(call Call) string {
	return "reading the log of " + cmp.Or(call.text("path"), "the branch")
}

// Run carries out one call.
func (t *gitLog) Run(ctx context.Context, call Call) Result {
	path, err := t.files.clean(call.text("path"))
	if err != nil {
		return Failed("%s", err)
	}
	limit := call.number("limit", defaultLog)
	text, err := t.history.Log(ctx, path, min(max(1, limit), maxLog))
	if err != nil {
		return Failed("the log cannot be read: %v", err)
	}
	if text == "" {
		return Text("[no commit of this run changed " + path + "]")
	}
	return Text(text)
}
