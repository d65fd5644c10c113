package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"divisi/contextscope"
	"divisi/internal/sandbox"
	"divisi/subagents/journal"
	"divisi/subagents/mcp"
	"divisi/subagents/tool"
	"divisi/subagents/wire"

	"google.golang.org/genai"
)

// starter starts the programs of MCP servers like a command of the role, but that its tree is theirs to write only where the role
// changes files.
type starter struct{ *Config }

// Start implements mcp.Starter.
func (s starter) Start(ctx context.Context, args, env []string) (mcp.Process, error) {
	c := s.Command
	c.Args, c.Env = args, slices.Concat(c.Env, env)
	c.Place.KeepTree = s.Slot != nil && !s.Writes
	if s.Slot != nil && s.Writes {
		s.Slot.Share()
	}
	session, err := sandbox.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	return session, nil
}

// servers starts the MCP servers of the role and keeps what their tools are told to be. A role that names a server needs it:
// without it the attempt is refused.
func (c *Config) servers(ctx context.Context) (*mcp.Servers, error) {
	a := c.Assignment
	servers, err := mcp.Open(ctx, a.Project.Servers(&a.Role), mcp.Options{
		Starter: starter{c}, Environ: c.Environ, Log: c.Log,
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, &wire.RefusedError{Err: fmt.Errorf("the tools of role %s: %w", a.Role.Name, err)}
	}
	if err := c.keepTools(ctx, servers.Tools()); err != nil {
		servers.Close()
		return nil, err
	}
	return servers, nil
}

func (c *Config) keepTools(ctx context.Context, tools []tool.Tool) error {
	if len(tools) == 0 {
		return nil
	}
	declarations := make([]*genai.FunctionDeclaration, len(tools))
	for i, t := range tools {
		declarations[i] = t.Declaration()
	}
	object, err := c.Journal.KeepJSON(ctx, declarations)
	if err != nil {
		return fmt.Errorf("keep the tools of %s: %w", c.Assignment.Agent(), err)
	}
	told := wire.ServerTools{Reason: wire.ReasonTools, Object: object}
	_, err = c.Journal.Append(ctx, wire.Draft(contextscope.KindControl, told))
	return err
}

// WithServers adds to declarations those of the MCP servers that an attempt's events tell of last, and keeps them sorted.
func WithServers(
	ctx context.Context, objects journal.Objects, events []contextscope.Event, declarations []*genai.FunctionDeclaration,
) ([]*genai.FunctionDeclaration, error) {
	for _, e := range slices.Backward(events) {
		var told wire.ServerTools
		if e.Kind != contextscope.KindControl || json.Unmarshal(e.Data, &told) != nil || told.Reason != wire.ReasonTools {
			continue
		}
		data, err := objects.Get(ctx, told.Object)
		if err != nil {
			return nil, fmt.Errorf("read the tools of %s: %w", e.Agent, err)
		}
		var more []*genai.FunctionDeclaration
		if err := json.Unmarshal(data, &more); err != nil {
			return nil, fmt.Errorf("decode the tools of %s: %w", e.Agent, err)
		}
		declarations = append(slices.Clone(declarations), more...)
		slices.SortFunc(declarations, func(a, b *genai.FunctionDeclaration) int { return cmp.Compare(a.Name, b.Name) })
		break
	}
	return declarations, nil
}
