package files

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/text"
	"divisi/internal/textfile"
	"divisi/subagents/tool"
	"divisi/subagents/tool/files/replace"
)

// maxEdited bounds the files that are edited, maxEditedSum those of one call together; larger ones are not written by hand.
const (
	maxEdited    = 4 << 20
	maxEditedSum = 64 << 20
)

type editArgs struct {
	Edits []oneEdit `json:"edits"`
}

type oneEdit struct {
	Path string `json:"path"`
	Old  string `json:"old_text" jsonschema:"exactly as in the file, without line numbers"`
	New  string `json:"new_text"`
	All  bool   `json:"replace_all,omitempty" jsonschema:"every occurrence"`
}

// Doing describes the call.
func (a editArgs) Doing() string {
	var names []string
	for _, e := range a.Edits {
		if !slices.Contains(names, e.Path) {
			names = append(names, e.Path)
		}
	}
	return "editing " + text.Some(names, 1)
}

// edit makes all edits, or none.
func (t *tree) edit(ctx context.Context, a editArgs) tool.Result {
	if len(a.Edits) == 0 {
		return tool.Failed("edits is empty: give at least one")
	}
	e := editing{tree: t}
	var faults, reports []string
	for i, one := range a.Edits {
		report, err := e.edit(one)
		if err != nil {
			faults = append(faults, fmt.Sprintf("edits[%d]: %v", i, err))
		}
		reports = append(reports, report)
	}
	if len(faults) > 0 {
		return tool.Failed("nothing was changed; fix:\n- %s", strings.Join(faults, "\n- "))
	}
	if ctx.Err() != nil { // from here on it is not interrupted
		return tool.Failed("nothing was changed: %v", context.Cause(ctx))
	}
	if err := t.change(e.changes); err != nil {
		return tool.Failed("%s", err)
	}
	return tool.Text(strings.Join(reports, ""))
}

// editing is several edits in progress: what becomes of each file.
type editing struct {
	tree    *tree
	changes []*change
	bytes   int
}

// edit makes one edit of a file as the edits before it leave it.
func (e *editing) edit(one oneEdit) (report string, err error) {
	c, err := e.file(one.Path)
	if err != nil {
		return "", err
	}
	f, ok := textfile.Read(c.data)
	if !ok {
		return "", fmt.Errorf("%s is a binary file and cannot be edited as text", c.target)
	}
	done, err := replace.In(f, one.Old, one.New, one.All)
	if err != nil {
		return "", fmt.Errorf("%s was not changed: %w", c.target, err)
	}
	if e.bytes += len(done.Data) - len(c.data); e.bytes > maxEditedSum {
		return "", fmt.Errorf("the files have more than %d bytes together: edit fewer at once", maxEditedSum)
	}
	c.data = done.Data
	return done.Report(c.target), nil
}

// file is a file as the edits so far leave it.
func (e *editing) file(name string) (*change, error) {
	target, err := e.tree.writable(name)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(e.changes, func(c *change) bool { return c.target == target }); i >= 0 {
		return e.changes[i], nil
	}
	data, mode, err := e.tree.readReal(target, name, maxEdited)
	if err != nil {
		return nil, err
	}
	c := &change{target: target, before: data, data: data, mode: mode}
	e.changes, e.bytes = append(e.changes, c), e.bytes+len(data)
	return c, nil
}
