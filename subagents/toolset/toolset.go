package toolset

import (
	"context"
	"fmt"
	"os"
	"slices"

	"divisi/internal/spec"
	"divisi/subagents/agent"
	"divisi/subagents/limit"
	"divisi/subagents/tool"
	"divisi/subagents/tool/artifacts"
	"divisi/subagents/tool/commands"
	"divisi/subagents/tool/files"
	"divisi/subagents/tool/team"
	"divisi/subagents/wire"

	"google.golang.org/genai"
)

// toolbox is how the tools of one attempt are made.
type toolbox struct {
	files     files.Config
	commands  commands.Config
	artifacts artifacts.Config
	team      team.Config
	guard     tool.Guard
	// more are the tools of the worker and of MCP servers.
	more []tool.Tool
}

// set builds the tools that a role lists, submit_result, and those of its MCP servers. A tool that cannot be used in this attempt
// is left out.
func (b toolbox) set(a *wire.Assignment, servers []string) (*tool.Set, error) {
	b.team.Roles, b.team.Output, b.team.Constraints = a.Roles, a.Role.Output, spec.Rules(a.Task.Constraints)
	b.commands.MaxCommand = limit.Of(&a.Task, &a.Role, &a.Project, 0).Tool
	b.guard.Policies = a.Project.Outputs(&a.Role)
	others, err := team.Tools(b.team)
	if err != nil {
		return nil, fmt.Errorf("the tools of role %s: %w", a.Role.Name, err)
	}
	all := slices.Concat(files.Tools(b.files), commands.Tools(b.commands), artifacts.Tools(b.artifacts), others, b.more)
	set, err := tool.NewSet(&b.guard, slices.Concat(Names(a), servers), all...)
	if err != nil {
		return nil, fmt.Errorf("the tools of role %s: %w", a.Role.Name, err)
	}
	return set, nil
}

// Names are the names of an attempt's tools: those that its role lists, submit_result, and send beside dispatch. delegate and
// transfer need a role that they can name.
func Names(a *wire.Assignment) []string {
	names := append(slices.Clone(a.Role.Tools), spec.ToolSubmitResult)
	if slices.Contains(names, spec.ToolDispatch) {
		names = append(names, team.Lead...)
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return (name == spec.ToolDelegate || name == spec.ToolTransfer) && len(a.Roles) == 0
	})
}

// Open builds the role's tools over the slot, or over an empty directory for a role without file tools. done closes what they
// hold.
func (c *Config) Open(ctx context.Context, of *agent.Agent) (set *tool.Set, done func(), err error) {
	a := c.Assignment
	root, err := os.OpenRoot(c.Command.Dir)
	if err != nil {
		return nil, nil, fmt.Errorf("open the work tree: %w", err)
	}
	done = func() {
		if err := root.Close(); err != nil {
			c.Log.Warn().Err(err).Msg("the work tree was not closed")
		}
	}
	layers, closeLayers, err := c.openLayers()
	closeRoot := done
	done = func() { closeLayers(); closeRoot() }
	if err != nil {
		done()
		return nil, nil, err
	}
	servers, err := c.servers(ctx)
	if err != nil {
		done()
		return nil, nil, err
	}
	closeTree := done
	done = func() { servers.Close(); closeTree() }
	kept := agent.NewArtifactStore(c.Objects, a.Run, a.Agent(), of.Known)
	b := toolbox{
		files:    files.Config{Root: root, Layers: layers, Dir: c.Command.Place.Seen().Tree, Scope: of.Scope, Runner: c.Runner},
		commands: commands.Config{Runner: c.Runner, Gates: gates{c}},
		artifacts: artifacts.Config{
			Store: kept, Saver: kept, Saved: of.Saved, Events: of, Known: of.Known, Source: a.Run + "/" + a.Task.ID,
		},
		team:  team.Config{Requester: c.Requests, Grow: of.Scope.Grow, Named: of.Named, Artifacts: kept},
		guard: tool.Guard{Artifacts: kept, Summarizer: agent.NewSummarizer(c.Model, a), Sought: of.Sought},
		more:  slices.Concat(c.More, servers.Tools()),
	}
	if len(a.Role.MCPServers) > 0 {
		b.files.Ripgrep = "-" // a server may write the tree meanwhile, and only our own walk follows no link out of it
	}
	if c.Slot != nil {
		b.files.History = &history{slot: c.Slot, mirror: c.Mirror, head: a.Head}
	}
	b.artifacts.File = b.files.Read
	if c.Memory != nil {
		b.artifacts.Memory = c.Memory
		c.refresh(ctx)
	}
	if set, err = b.set(a, tool.NamesOf(servers.Tools())); err != nil {
		done()
		return nil, nil, &wire.RefusedError{Err: err}
	}
	return set, done, nil
}

// Declarations are the descriptions of the attempt's tools for the model, for tools that are never run.
func Declarations(a *wire.Assignment, more []tool.Tool) ([]*genai.FunctionDeclaration, error) {
	set, err := toolbox{more: more}.set(a, nil)
	if err != nil {
		return nil, err
	}
	return set.Declarations(), nil
}
