package tool

import (
	"context"
	"divisi/internal/spec" // the description
	_ "embed"
	"fmt"
	"io/fs"

	"google.golang.org/genai"
)

//go:embed write_file.md
var writeFileText string

// newFileMode is the mode of a file that did not exist.
const newFileMode fs.FileMode = 0o644

type writeFile struct{ files *tree }

func (t *writeFile) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: spec.ToolWriteFile, Description: writeFileText,
		ParametersJsonSchema: object(properties{
			"path":    property("string", "File to write, relative to the top. Directories are made."),
			"content": property("string", "The whole content."),
		}, "path", "content"),
	}
}

func (t *writeFile) ReadOnly() bool { return false }

func (t *writeFile) Doing(call Call) string { return "writing " + call.text("path") }

func (t *writeFile) Run(_ context.Context, call Call) Result {
	name, content := call.text("path"), call.text("content")
	if len(content) > maxFile {
		return Failed("the content has %d bytes, more than %d", len(content), maxFile)
	}
	real, err := t.files.writable(name)
	if err != nil {
		return Failed("%s", err)
	}
	mode, did := newFileMode, "created"
	if info, err := t.files.root.Lstat(real); err == nil {
		mode, did = info.Mode().Perm(), "replaced"
	}
	if err := t.files.replace(real, []byte(content), mode); err != nil {
		return Failed("%s was not written: %s", name, err)
	}
	return Text(fmt.Sprintf("%s %s, %d lines", did, real, len(splitLines(content))))
}
