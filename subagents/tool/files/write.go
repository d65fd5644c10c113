package files

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"divisi/internal/text"
	"divisi/internal/textfile"
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
	mode, did, data := newFileMode, "created", []byte(a.Content)
	if info, err := t.Root.Lstat(target); err == nil {
		mode, did = info.Mode().Perm(), "replaced"
		if old, _, err := t.readReal(target, a.Path, maxFile); err == nil { // what cannot be read has nothing to be kept
			if f, ok := textfile.Read(old); ok {
				data = f.Whole(a.Content)
			}
		}
	}
	if err := t.replace(target, data, mode); err != nil {
		return tool.Failed("%s was not written: %s", a.Path, err)
	}
	return tool.Text(fmt.Sprintf("%s %s, %d lines", did, target, len(text.Lines(a.Content))))
}

// change is a file that gets a new content.
type change struct {
	target       string
	before, data []byte
	mode         fs.FileMode
}

// change writes all files, or none: where one cannot be written, those before it get their old content back.
func (t *tree) change(changes []*change) (err error) {
	temps := make([]string, 0, len(changes))
	for _, c := range changes {
		temp, err := t.stage(c.target, c.data, c.mode)
		if err != nil {
			return errors.Join(fmt.Errorf("nothing was changed: %w", err), t.remove(temps))
		}
		temps = append(temps, temp)
	}
	for i, c := range changes {
		if err := t.Root.Rename(temps[i], c.target); err != nil {
			err = errors.Join(fmt.Errorf("nothing was changed: %w", explain(c.target, err)), t.remove(temps[i:]))
			for _, done := range slices.Backward(changes[:i]) {
				err = errors.Join(err, t.replace(done.target, done.before, done.mode))
			}
			return err
		}
	}
	return nil
}

func (t *tree) remove(names []string) (err error) {
	for _, name := range names {
		err = errors.Join(err, t.Root.Remove(name))
	}
	return err
}

// tempName is a name beside a file that nothing else has.
func tempName(target string) string {
	return path.Join(path.Dir(target), ".divisi-"+rand.Text()+".tmp")
}
