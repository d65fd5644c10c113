// Package project has the commands about a repository and this machine: roles, configuration, memory, environments, checks, and
// the MCP server.
package project

import "divisi/cmd/divisi/internal/runs"

// Globals are those of every command, which can also begin a run.
type Globals struct{ runs.Globals }
