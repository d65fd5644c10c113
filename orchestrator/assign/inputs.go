package assign

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/contextscope/artifact"
	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// maxArtifact bounds, in bytes, the text of an artifact in a brief; the rest is behind its handle.
const maxArtifact = 32 << 10

// wanted is one input of a task, resolved: a task's handoff, or with a name one artifact of it.
type wanted struct {
	task     *run.Task
	artifact string
}

// wantedBy lists what a task asked for, that of each template's shards in plan order. Tasks without a result have nothing.
func wantedBy(tasks *run.Tasks, t *run.Task) []wanted {
	var out []wanted
	for _, in := range t.Task.Inputs {
		ref, name := spec.SplitInput(in)
		for _, id := range tasks.Members(ref) {
			if v := tasks.ByID[id]; v.Result != nil {
				out = append(out, wanted{v, name})
			}
		}
	}
	return out
}

// inputs are the handoffs and artifacts that a task asked for. The error is a *InputError when there is no such artifact.
func (g *given) inputs(ctx context.Context, t *run.Task) ([]wire.Input, error) {
	var out []wire.Input
	for _, w := range wantedBy(&g.st.Tasks, t) {
		in := wire.Input{Task: w.task.Task.ID, Role: w.task.Task.Role}
		if w.artifact == "" {
			in.Handoff = w.task.Result.Handoff
		} else {
			a, err := g.artifact(ctx, w)
			if err != nil {
				return nil, err
			}
			in.Artifact = a
		}
		out = append(out, in)
	}
	return out, nil
}

// InputError reports that an input names an artifact that does not exist: another attempt would not find it either.
type InputError struct{ text string }

// Error names it, and what there is.
func (e *InputError) Error() string { return e.text }

// artifact reads one artifact of a task's handoff. Handles are words of an agent: only those of the run are followed.
func (g *given) artifact(ctx context.Context, w wanted) (*contextscope.Artifact, error) {
	input := w.task.Task.ID + "/" + w.artifact
	handle := artifactOf(w.task.Result.Handoff.Artifacts, w.artifact)
	if handle == "" {
		return nil, &InputError{noArtifact(w)}
	}
	data, err := g.content(ctx, handle)
	switch {
	case errors.Is(err, bus.ErrNotFound) || errors.Is(err, artifact.ErrNotFound):
		return nil, &InputError{fmt.Sprintf("input %s: %.200q is not in the store of this run", input, handle)}
	case err != nil:
		return nil, fmt.Errorf("read input %s: %w", input, err)
	}
	out := &contextscope.Artifact{Name: w.artifact, Handle: handle, Bytes: len(data)}
	if utf8.Valid(data) && !slices.Contains(data, 0) {
		out.Text = text.HeadLines(string(data), maxArtifact)
	}
	return out, nil
}

func noArtifact(w wanted) string {
	var names []string
	for _, h := range w.task.Result.Handoff.Artifacts {
		names = append(names, path.Base(artifactName(h)))
	}
	have := "none"
	if len(names) > 0 {
		have = strings.Join(names, ", ")
	}
	text := fmt.Sprintf("input %s/%s: the handoff of %s has no artifact %q; it has %s",
		w.task.Task.ID, w.artifact, w.task.Task.ID, w.artifact, have)
	if near := spec.Nearest(w.artifact, names); near != "" {
		text += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return text
}

// maxHandle is how long, in bytes, the name of an object can be.
const maxHandle = 512

// content reads the object of a handle, in either of its forms.
func (g *given) content(ctx context.Context, handle string) ([]byte, error) {
	if h, err := artifact.ParseHandle(handle); err == nil {
		a, err := artifact.NewStore(g.bus, g.run, bus.ErrNotFound, bus.ErrExists).Get(ctx, h)
		return a.Data, err
	}
	if !strings.HasPrefix(handle, "artifact/"+g.run+"/") || len(handle) > maxHandle {
		return nil, bus.ErrNotFound
	}
	return g.bus.Get(ctx, handle)
}

// artifactOf returns the newest of the handles that is meant by a name, or by the handle itself; "" when none is.
func artifactOf(handles []string, name string) string {
	for _, h := range slices.Backward(handles) {
		if n := artifactName(h); h == name || n == name || strings.HasSuffix(n, "/"+name) {
			return h
		}
	}
	return ""
}

// keptHandle is the handle of a tool's output: artifact/run/task/attempt/name-digest.
var keptHandle = lazyregexp.New(`^artifact/[^/]+/[^/]+/[0-9]+/(.+)-[0-9a-f]{12}$`)

// artifactName returns the name of a handle's artifact; a handle in no known form is its own name.
func artifactName(handle string) string {
	if h, err := artifact.ParseHandle(handle); err == nil {
		return h.Name
	}
	if m := keptHandle.FindStringSubmatch(handle); m != nil {
		return m[1]
	}
	return handle
}
