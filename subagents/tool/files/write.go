package files

import (
	"context"
	"fmt"
	"io/fs"

	"divisi/internal/text"
	"divisi/subagents/tool"
)

// newFileMode is the mode of a file that did not exist.
const newFileMode fs.FileMode = 0o644

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// Doing describes the call.
func (a writeArgs) Doing() string { return "writing " + a.Path }

func (t *tree) writeFile(_ context.Context, a writeArgs) tool.Result {
	if len(a.Content) > maxFile {
		return tool.Failed("the content has %d bytes, more than %d", len(a.Content), maxFile)
	}
	target, err := t.writable(a.Path)
	if err != nil {
		return tool.Failed("%s", err)
	}
	mode, did := newFileMode, "created"
	if info, err := t.Root.Lstat(target); err == nil {
		mode, did = info.Mode().Perm(), "replaced"
	}
	if err := t.replace(target, []byte(a.Content), mode); err != nil {
		return tool.Failed("%s was not written: %s", a.Path, err)
	}
	return tool.Text(fmt.Sprintf("%s %s, %d lines", did, target, len(text.Lines(a.Content))))
}
