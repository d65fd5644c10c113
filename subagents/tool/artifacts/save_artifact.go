package artifacts

import (
	"context"
	"fmt"
	"slices"

	"divisi/contextscope"
	"divisi/contextscope/artifact"
	"divisi/internal/spec"
	"divisi/subagents/tool"
)

// The bounds of what an agent saves: the bytes of one artifact, and the names of one attempt.
const (
	maxSaved      = 1 << 20
	maxSavedNames = 50
)

type saveArgs struct {
	Name    string  `json:"name"`
	Content *string `json:"content,omitempty"`
	Path    string  `json:"path,omitempty"`
}

// Doing describes the call.
func (a saveArgs) Doing() string { return "saving " + a.Name }

// saveArtifact keeps a text or a file under a name. The result lists it, and the attempt's events make it the agent's.
func (t *tools) saveArtifact(ctx context.Context, a saveArgs) tool.Result {
	if why := t.unsavable(a); why != "" {
		return tool.Failed("nothing was saved: %s", why)
	}
	var data []byte
	if a.Content != nil {
		data = []byte(*a.Content)
	} else {
		var err error
		if data, err = t.File(a.Path, maxSaved); err != nil {
			return tool.Failed("nothing was saved: %v", err)
		}
	}
	if len(data) == 0 || len(data) > maxSaved {
		return tool.Failed("nothing was saved: %s has %d bytes, and an artifact has from 1 to %d", a.Name, len(data), maxSaved)
	}
	handle, err := t.Saver.Put(ctx, a.Name, data)
	if err != nil {
		return tool.Failed("nothing was saved: %v", err)
	}
	r := tool.Text(fmt.Sprintf("saved as %s; your result names it", handle))
	r.Kept = []contextscope.Listed{{Handle: handle, What: a.Name, Bytes: int64(len(data)), Name: a.Name}}
	return r
}

// unsavable returns why a call names nothing that can be saved; "" when it does. Outputs of tools have their tool's name.
func (t *tools) unsavable(a saveArgs) string {
	saved := func(l contextscope.Listed) bool { return l.Name == a.Name }
	err := artifact.CheckName(a.Name)
	switch {
	case t.Saver == nil || t.File == nil || t.Saved == nil:
		return errNotHere.Error()
	case err != nil:
		return err.Error()
	case slices.Contains(spec.Tools(), a.Name):
		return fmt.Sprintf("%s is the name of a tool: take another", a.Name)
	case (a.Content != nil) == (a.Path != ""):
		return "give either content or the path of a file"
	case len(t.Saved()) >= maxSavedNames && !slices.ContainsFunc(t.Saved(), saved):
		return fmt.Sprintf("you have saved %d artifacts: save under one of their names, or put several into one", maxSavedNames)
	}
	return ""
}
