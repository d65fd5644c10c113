package tool

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"divisi/internal/spec" // for the description.

	"google.golang.org/genai"
)

//go:embed apply_patch.md
var applyPatchText string

// The bounds of one patch: its files' bytes together, and the faults that are told.
const (
	maxPatched      = 64 << 20
	maxPatchFaults  = 10
	maxPatchedFiles = 1000
)

type applyPatch struct{ files *tree }

// Declaration is what the model is told.
func (t *applyPatch) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: spec.ToolApplyPatch, Description: applyPatchText,
		ParametersJsonSchema: object(properties{
			"patch": property("string", "The diff, as git diff writes it, with paths relative to the top."),
		}, "patch"),
	}
}

// Effect is Writes: it changes the work tree.
func (t *applyPatch) Effect(Call) Effect { return Writes }

// Doing names what the call is about.
func (t *applyPatch) Doing(call Call) string {
	text := call.text("patch")
	if len(text) > maxEdited {
		return "applying a patch"
	}
	patches, err := parsePatch(text)
	if err != nil {
		return "applying a patch"
	}
	more := ""
	if len(patches) > 1 {
		more = fmt.Sprintf(" and %d more", len(patches)-1)
	}
	return "patching " + patches[0].name() + more
}

// Run carries out one call.
func (t *applyPatch) Run(ctx context.Context, call Call) Result {
	text := call.text("patch")
	if len(text) > maxEdited {
		return Failed("the patch has %d bytes, more than %d: nothing was changed. Split it", len(text), maxEdited)
	}
	patches, err := parsePatch(text)
	if err != nil {
		return Failed("the patch cannot be read, nothing was changed: %s", err)
	}
	changes, faults := t.plan(ctx, patches)
	if len(faults) > 0 {
		left := ""
		if len(faults) > maxPatchFaults {
			left = fmt.Sprintf("\n- and %d more", len(faults)-maxPatchFaults)
			faults = faults[:maxPatchFaults]
		}
		return Failed("nothing was changed; put right:\n- %s%s", strings.Join(faults, "\n- "), left)
	}
	if ctx.Err() != nil { // from here on it is not interrupted
		return Failed("nothing was changed: %v", context.Cause(ctx))
	}
	if err := t.files.change(changes); err != nil {
		return Failed("%s", err)
	}
	var b strings.Builder
	for i := range changes {
		fmt.Fprintln(&b, changes[i].did)
	}
	return Text(b.String())
}

// plan says what the patch makes of each file, or everything that is wrong with it. It changes nothing.
func (t *applyPatch) plan(ctx context.Context, patches []*filePatch) (changes []change, faults []string) {
	size := 0
	for _, p := range patches {
		c, wrong := t.planFile(ctx, p)
		for _, w := range wrong {
			faults = append(faults, p.name()+": "+w)
		}
		changes = append(changes, c)
		if size += len(c.data); size > maxPatched {
			return nil, append(faults, fmt.Sprintf("the files have more than %d bytes together: split the patch", maxPatched))
		}
	}
	return changes, faults
}

func (t *applyPatch) planFile(ctx context.Context, p *filePatch) (c change, faults []string) {
	c.mode = p.mode
	var data []byte
	if p.old != "" {
		var err error
		if c.from, err = t.files.writable(p.old); err == nil {
			data, c.mode, err = t.files.readReal(c.from, p.old, maxEdited)
		}
		if err != nil {
			return c, []string{err.Error()}
		}
		if binary(data) {
			return c, []string{"it is a binary file and cannot be patched as text"}
		}
	}
	if p.created() || p.renamed() {
		var err error
		if c.to, err = t.files.writable(p.new); err == nil {
			_, err = t.files.root.Lstat(c.to)
			if err == nil {
				err = fmt.Errorf("%s exists already", c.to)
			} else if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
		if err != nil {
			return c, []string{err.Error()}
		}
	} else if !p.deleted() {
		c.to = c.from
	}
	f := newFitting(data, p.created())
	if faults = f.fit(ctx, p.hunks); len(faults) > 0 {
		return c, faults
	}
	c.data = f.result()
	switch {
	case p.deleted() && len(p.hunks) > 0 && len(c.data) > 0:
		return c, []string{"the patch deletes the file, but not all of its lines: some are not in it"}
	case c.from == c.to && bytes.Equal(data, c.data):
		return c, []string{"the patch changes nothing in it"}
	}
	c.did = p.did() + f.where()
	return c, nil
}
