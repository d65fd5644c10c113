// Package toolset makes the tools of one attempt's agent, over what the attempt has: its work tree, its commands, the log, the
// objects and what it asks of others.
package toolset

import (
	"context"
	"fmt"
	"os"

	"divisi/internal/git"
	"divisi/internal/model"
	"divisi/subagents/agent"
	"divisi/subagents/environment"
	"divisi/subagents/journal"
	"divisi/subagents/tool"
	"divisi/subagents/tool/artifacts"
	"divisi/subagents/tool/files"
	"divisi/subagents/wire"
	"divisi/subagents/workspace"

	"github.com/rs/zerolog"
)

// Config is the input of one attempt's tools.
type Config struct {
	// Runner runs all commands of the agent. Env is their environment without the task's: gates have that.
	Runner

	Env        []string
	Assignment *wire.Assignment
	Journal    *journal.Journal
	Objects    journal.Objects
	Answers    Answers
	Requests   *Requests
	// Slot is the work tree; nil for an attempt without one. Writes reports whether it becomes a patch. Changed lists the paths
	// in which its commit differs from another one, Environment lies below it; nil for none.
	Slot        *workspace.Slot
	Writes      bool
	Changed     func(ctx context.Context, since string) ([]string, error)
	Mirror      *git.Repo
	Environment *environment.Environment
	// Environ is the source of variables for MCP servers.
	Environ []string
	Model   model.Model
	// Memory may be nil; More are further tools.
	Memory Memory
	More   []tool.Tool
	Log    zerolog.Logger
}

// Memory is the memory of the repository.
type Memory interface {
	agent.Memory
	artifacts.Memory
	// Refresh lets what was noted since be found, and reports whether there are notes.
	Refresh(ctx context.Context) (notes bool, err error)
}

// refresh lets the agent find what was noted since the last one began. Notes that cannot be read are told when a run begins.
func (c *Config) refresh(ctx context.Context) {
	if _, err := c.Memory.Refresh(ctx); err != nil {
		c.Log.Warn().Err(err).Msg("the memory may be out of date")
	}
}

// openLayers opens what the file tools read of the environment. done is never nil.
func (c *Config) openLayers() (layers []files.Layer, done func(), err error) {
	done = func() {
		for _, l := range layers {
			_ = l.Root.Close() // a handle
		}
	}
	if c.Slot == nil {
		return nil, done, nil
	}
	for _, l := range c.Environment.Layers() {
		root, err := os.OpenRoot(l.Lower)
		if err != nil {
			return layers, done, fmt.Errorf("open the environment: %w", err)
		}
		layers = append(layers, files.Layer{Path: l.Path, Root: root})
	}
	return layers, done, nil
}
