package artifacts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"divisi/contextscope"
	"divisi/contextscope/artifact"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/tool"
)

type loadArgs struct {
	Handle    string `json:"handle"`
	StartLine *int   `json:"start_line,omitempty" jsonschema:"from 1"`
	EndLine   *int   `json:"end_line,omitempty"`
	StartByte *int   `json:"start_byte,omitempty" jsonschema:"in place of lines, from 1"`
	EndByte   *int   `json:"end_byte,omitempty"`
	Search    string `json:"search,omitempty" jsonschema:"only lines that match this RE2 or text"`
}

// Doing describes the call.
func (a loadArgs) Doing() string { return "loading " + a.Handle }

// loadArtifact shows a part of an artifact in the next request: the result is a line about it.
func (t *tools) loadArtifact(ctx context.Context, a loadArgs) tool.Result {
	handle := strings.TrimSpace(a.Handle)
	asked, err := readPart(a)
	if err != nil {
		return tool.Failed("%s", err)
	}
	data, err := t.get(ctx, handle)
	if err != nil {
		return tool.Failed("%s cannot be loaded: %s", text.OneLine(text.Short(handle, 300)), t.explain(handle, err))
	}
	switch {
	case len(data) == 0:
		return tool.Text(handle + " is empty")
	case text.Binary(data):
		return tool.Failed("%s is binary (%d bytes) and cannot be shown", handle, len(data))
	}
	what, shown, err := asked.of(ctx, strings.ToValidUTF8(string(data), "\uFFFD"))
	switch {
	case err != nil:
		return tool.Failed("%s: %s", handle, err)
	case shown == "":
		return tool.Text(handle + ": " + what)
	}
	r := tool.Text(handle + " " + what + ", shown at the end of the next request")
	r.Load = &tool.Load{Handle: handle, What: what, Text: shown}
	return r
}

var errNotHere = errors.New("nothing of the kind is kept here: repeat the call with a narrower question")

func (t *tools) get(ctx context.Context, handle string) ([]byte, error) {
	if seq, ok := contextscope.ParseEventHandle(handle); ok {
		if t.Events == nil {
			return nil, errNotHere
		}
		event, err := t.Events.Event(ctx, seq)
		return []byte(event), err
	}
	if t.Store == nil {
		return nil, errNotHere
	}
	return t.Store.Get(ctx, handle)
}

// explain reports what went wrong and which handles may have been meant.
func (t *tools) explain(handle string, err error) string {
	why := text.OneLine(err.Error())
	switch {
	case errors.Is(err, artifact.ErrCorrupt):
		return why + ". The stored content is damaged: make it again with the same call"
	case !errors.Is(err, artifact.ErrNotFound) && !errors.Is(err, artifact.ErrHandle):
		return why
	}
	if near := t.nearest(handle); len(near) > 0 {
		return why + "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return why + ". Give a handle exactly as it stood where you read it"
}

// nearest are the known handles that are like one: other versions of the name first.
func (t *tools) nearest(handle string) []string {
	if t.Known == nil {
		return nil
	}
	const most = 3
	known := t.Known()
	var near []string
	name, _, _ := strings.Cut(handle, "@")
	for _, k := range slices.Backward(known) {
		if strings.HasPrefix(k, name+"@") || name != "" && strings.HasPrefix(k, fmt.Sprintf("artifact:%s@", name)) {
			near = append(near, k)
		}
	}
	for _, k := range spec.NearestAll(handle, known, most) {
		if !slices.Contains(near, k) {
			near = append(near, k)
		}
	}
	return near[:min(len(near), most)]
}
