package subagents

import (
	"context"
	"fmt"

	"divisi/subagents/tool"
)

// shelf keeps the large outputs of one agent's tools as objects.
type shelf struct {
	objects Objects
	run     string
	agent   string
}

// Put implements tool.Artifacts. The handle names the content, so that the same name can come again.
func (s shelf) Put(ctx context.Context, name string, data []byte) (string, error) {
	handle := "artifact/" + s.run + "/" + s.agent + "/" + name + "-" + digest(data)[:12]
	if err := s.objects.Put(ctx, handle, data); err != nil {
		return "", fmt.Errorf("keep %s: %w", name, err)
	}
	return handle, nil
}

// Get implements tool.ArtifactReader. An agent can read the artifacts of its run and nothing else of the store.
func (s shelf) Get(ctx context.Context, handle string) ([]byte, error) {
	if !inRun(handle, s.run) {
		return nil, fmt.Errorf("%q is no artifact of this run", handle)
	}
	return s.objects.Get(ctx, handle)
}

var _ tool.ArtifactReader = shelf{}
