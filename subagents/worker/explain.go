package worker

import (
	"context"
	"fmt"
	"os"
	"slices"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/subagents/agent"
	"divisi/subagents/journal"
	"divisi/subagents/limit"
	"divisi/subagents/tool"
	"divisi/subagents/wire"

	"google.golang.org/genai"
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

// declarations are what the attempt's tools tell the model. The set is built over an empty directory: nothing of it is run.
func declarations(a *wire.Assignment, extra []tool.Tool) ([]*genai.FunctionDeclaration, error) {
	dir, err := os.MkdirTemp("", "divisi-explain-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary directory: %w", err)
	}
	defer os.Remove(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open a temporary directory: %w", err)
	}
	defer root.Close()
	set, err := tool.Builtin(toolNames(&a.Role), tool.Env{
		Root: root, Dir: dir, Runner: runner{}, Artifacts: &agent.Shelf{}, Output: a.Role.Output,
		MaxCommand:  limit.Of(&a.Task, &a.Role, &a.Project, 0).Tool,
		Constraints: spec.Rules(a.Task.Constraints), History: &history{}, Gates: gates{},
		Extra: slices.Concat(extra, requestTools(nil, a, nil)),
	})
	if err != nil {
		return nil, fmt.Errorf("the tools of role %s: %w", a.Role.Name, err)
	}
	return set.Declarations(), nil
}
