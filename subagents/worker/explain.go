package worker

import (
	"context"
	"fmt"

	"divisi/bus"
	"divisi/subagents/agent"
	"divisi/subagents/journal"
	"divisi/subagents/tool"
	"divisi/subagents/wire"
)

// Explain reads an attempt's session, to compile its requests again. extra are the tools that the worker brought.
func Explain(
	ctx context.Context, b *bus.Bus, tree TreeReader, a *wire.Assignment, extra []tool.Tool,
) (*agent.Explainer, error) {
	in, err := inputOf(ctx, b, nil, tree, a)
	if err != nil {
		return nil, err
	}
	if in.Tools, err = declarations(a, extra); err != nil {
		return nil, err
	}
	events, _, err := journal.ReadSession(ctx, b, bus.AttemptSubject(a.Run, a.Role.Name, a.Task.ID, a.Attempt))
	if err != nil {
		return nil, fmt.Errorf("read the session of %s: %w", a.Agent(), err)
	}
	if in.Tools, err = withServerTools(ctx, b, events, in.Tools); err != nil {
		return nil, err
	}
	return agent.NewExplainer(b, a, in, events), nil
}
