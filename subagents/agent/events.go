package agent

import (
	"context"
	"fmt"

	"divisi/contextscope"
	"divisi/contextscope/artifact"
	"divisi/subagents/tool"
	"divisi/subagents/tool/artifacts"
)

// Event implements artifacts.EventReader: an agent can look at each event of its conversation again. Like Known and Sought it is
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

// Sought returns what the agent is after, for the summarizer of tool output.
func (a *Agent) Sought() tool.Sought {
	return tool.Sought{Brief: a.Input.Brief.Task.Brief, Said: a.session.said}
}
