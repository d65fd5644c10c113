package tool

import (
	"context"
	_ "embed"
	"fmt"
	"io/fs"

	"divisi/internal/spec" // for the description.

	"google.golang.org/genai"
)

//go:embed write_file.md
var writeFileText string

// newFileMode is the mode of a file that did not exist.
const newFileMode fs.FileMode = 0o644

type writeFile struct{ files *tree }

// Declaration is what the model is told.
func (t *writeFile) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: spec.ToolWriteFile, Description: writeFileText,
		ParametersJsonSchema: object(properties{
			"path":    property("string", "File to write, relative to the top. Directories are made."),
			"content": property("string", "The whole content."),
		}, "path", "content"),
	}
}

// Effect is Writes: it changes the work tree.
func (t *writeFile) Effect(Call) Effect { return Writes }

// Doing names what the call is about.
func (t *writeFile) Doing(call Call) string { return "writing " + call.text("path") }

// Run carries out one call.
func (t *writeFile) Run(_ context.Context, call Call) Result {
	name, content := call.text("path"), call.text("content")
	if len(content) > maxFile {
		return Failed("the content has %d bytes, more than %d", len(content), maxFile)
	}
	target, err := t.files.writable(name)
	if err != nil {
		return Failed("%s", err)
	}
	mode, did := newFileMode, "created"
	if info, err := t.files.root.Lstat(target); err == nil {
		mode, did = info.Mode().Perm(), "replaced"
	}
	if err := t.files.replace(target, []byte(content), mode); err != nil {
		return Failed("%s was not written: %s", name, err)
	}
	return Text(fmt.Sprintf("%s %s, %d lines", did, target, len(splitLines(content))))
}
