package worker

import (
	"context"
	"fmt"

	"divisi/bus"
	"divisi/subagents/agent"
	"divisi/subagents/brief"
	"divisi/subagents/journal"
	"divisi/subagents/tool"
	"divisi/subagents/toolset"
	"divisi/subagents/wire"
)

// Explain reads an attempt's session, to compile its requests again. extra are the tools that the worker brought.
func Explain(
	ctx context.Context, b *bus.Bus, tree brief.Tree, a *wire.Assignment, extra []tool.Tool,
) (*agent.Explainer, error) {
	in, err := brief.Input(ctx, b, b, &brief.Slices{}, tree, a)
	if err != nil {
		return nil, err
	}
	if in.Tools, err = toolset.Declarations(a, extra); err != nil {
		return nil, err
	}
	events, _, err := journal.ReadSession(ctx, b, bus.AttemptFilter(a.Run, a.Role.Name, a.Task.ID, a.Attempt))
	if err != nil {
		return nil, fmt.Errorf("read the session of %s: %w", a.Agent(), err)
	}
	if in.Tools, err = toolset.WithServers(ctx, b, events, in.Tools); err != nil {
		return nil, err
	}
	return agent.NewExplainer(b, a, in, events), nil
}
