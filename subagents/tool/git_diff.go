package tool

import (
	"cmp"
	"context"
	_ "embed"

	"divisi/internal/spec" // for the description.

	"google.golang.org/genai"
)

//go:embed git_diff.md
var gitDiffText string

// maxGitDiff bounds, in bytes, what is taken of a diff: more than is shown, since the whole is kept as an artifact.
const maxGitDiff = 1 << 20

type gitDiff struct {
	files   *tree
	history History
}

// Declaration is what the model is told.
func (t *gitDiff) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: spec.ToolGitDiff, Description: gitDiffText,
		ParametersJsonSchema: object(properties{
			"path":   property("string", "Only the changes of this file or directory. Default: all."),
			"commit": property("string", "A commit as git_log names it. Default: what is in the work tree."),
		}),
	}
}

// Effect is Reads: it only looks.
func (t *gitDiff) Effect(Call) Effect { return Reads }

// Doing names what the call is about.
func (t *gitDiff) Doing(call Call) string {
	return "looking at the changes of " + cmp.Or(call.text("path"), "the tree")
}

// Run carries out one call.
func (t *gitDiff) Run(ctx context.Context, call Call) Result {
	path, err := t.files.clean(call.text("path"))
	if err != nil {
		return Failed("%s", err)
	}
	text, cut, err := t.history.Diff(ctx, call.text("commit"), path, maxGitDiff)
	switch {
	case err != nil:
		return Failed("the changes cannot be read: %v", err)
	case text == "":
		return Text("[nothing has changed]")
	case cut:
		text += "\n[there is more: give a path]\n"
	}
	return Text(text)
}
