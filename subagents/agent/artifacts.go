package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/contextscope/artifact"
	"divisi/internal/lazyregexp"
	"divisi/subagents/journal"
	"divisi/subagents/tool"
	"divisi/subagents/tool/artifacts"
)

// ArtifactStore keeps the large outputs of one agent's tools as artifacts of its run, each under the agent's name.
type ArtifactStore struct {
	objects journal.Objects
	store   *artifact.Store
	run     string
	agent   string
	// Known are the handles that the agent was told of.
	known func() []string
}

// NewArtifactStore returns the artifact store of an agent of a run.
func NewArtifactStore(objects journal.Objects, run, agent string, known func() []string) *ArtifactStore {
	return &ArtifactStore{objects, artifact.NewStore(objects, run, bus.ErrNotFound, bus.ErrExists), run, agent, known}
}

// Put implements tool.Artifacts. An output that comes again has the same handle, so that what an agent does again and again
// looks the same each time, in a later delivery too.
func (s *ArtifactStore) Put(ctx context.Context, name string, data []byte) (string, error) {
	name, sum := s.agent+"/"+name, artifact.Digest(data)
	for _, text := range s.known() {
		if h, err := artifact.ParseHandle(text); err == nil && h.Name == name && h.Matches(sum) {
			if have, err := s.store.Get(ctx, h); err == nil && have.Handle.Digest == sum {
				return text, nil
			}
		}
	}
	h, err := s.store.Put(ctx, name, "text/plain", data)
	if err != nil {
		return "", fmt.Errorf("keep %s: %w", name, err)
	}
	return h.String(), nil
}

// contentNames are objects that are named by their content: big parts of events, and what gates wrote.
var contentNames = lazyregexp.New(`^(?:` + journal.PartPrefix + `|output-)([0-9a-f]{64})$`)

// Get implements tool.ArtifactReader. An agent can read the artifacts of its run and nothing else of the store.
func (s *ArtifactStore) Get(ctx context.Context, handle string) ([]byte, error) {
	if h, err := artifact.ParseHandle(handle); err == nil {
		a, err := s.store.Get(ctx, h)
		return a.Data, err
	}
	content := contentNames.FindStringSubmatch(handle)
	if content == nil && !inRun(handle, s.run) {
		return nil, fmt.Errorf("%.300q is no artifact of this run: %w", handle, artifact.ErrHandle)
	}
	data, err := s.objects.Get(ctx, handle)
	switch {
	case errors.Is(err, bus.ErrNotFound):
		return nil, fmt.Errorf("get %s: %w", handle, artifact.ErrNotFound)
	case err != nil:
		return nil, fmt.Errorf("get %s: %w", handle, err)
	case content != nil && artifact.Digest(data) != content[1]:
		return nil, fmt.Errorf("get %s: found the digest %s: %w", handle, artifact.Digest(data), artifact.ErrCorrupt)
	}
	return data, nil
}

// inRun reports whether a handle is of an artifact of a run, or of a part that was too big for its event.
func inRun(handle, run string) bool {
	return strings.HasPrefix(handle, "artifact/"+run+"/") || strings.HasPrefix(handle, journal.PartPrefix)
}

var _ tool.ArtifactReader = (*ArtifactStore)(nil)

// Event implements artifacts.EventReader: an agent can inspect each event of its conversation again. Like Known and Sought it is
// called while the agent waits for its tools, when nothing is appended.
func (a *Agent) Event(_ context.Context, seq int) (string, error) {
	for i := range a.events {
		if a.events[i].Seq == seq {
			return contextscope.RenderEvent(a.events[i]), nil
		}
	}
	return "", fmt.Errorf("there is no event %d in this session: %w", seq, artifact.ErrNotFound)
}

var _ artifacts.EventReader = (*Agent)(nil)

// Known are the handles that the agent was told of.
func (a *Agent) Known() []string {
	handles := make([]string, len(a.session.kept))
	for i, k := range a.session.kept {
		handles[i] = k.Handle
	}
	return handles
}

// Saved are the artifacts that the agent gave a name.
func (a *Agent) Saved() []contextscope.Listed { return a.session.saved }

// Named returns the handle of an artifact that the agent has saved under a name, or was given by that name; "" for none.
func (a *Agent) Named(name string) string {
	handles := []string{}
	for _, in := range a.Input.Brief.Inputs {
		handles = append(handles, in.Handoff.Artifacts...)
		if in.Artifact != nil {
			handles = append(handles, in.Artifact.Handle)
		}
	}
	for _, text := range slices.Backward(withSaved(handles, contextscope.Saved(a.session.saved, a.kept...))) {
		if h, err := artifact.ParseHandle(text); err == nil && strings.HasSuffix(h.Name, "/"+name) {
			return text
		}
	}
	return ""
}

// Sought returns what the agent is after, for the summarizer of tool output.
func (a *Agent) Sought() tool.Sought {
	return tool.Sought{Brief: a.Input.Brief.Task.Brief, Said: a.session.said}
}
