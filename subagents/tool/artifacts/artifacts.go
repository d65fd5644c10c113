// Package artifacts holds the tools for what is not in the prompt: load_artifact shows a stored output, an artifact of a
// handoff or an earlier event by its handle, save_artifact keeps a text under a name,
// load_memory searches the notes of earlier runs, and save_memory proposes one. Their input is a store, the agent's own session
// and a memory; their output is text, bounded for one request. They never write to the checkout: a person decides about a
// proposal.
package artifacts

import (
	"context"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/tool"
)

// EventReader shows an agent its own session.
type EventReader interface {
	// Event returns the event with a sequence number as text. One that is not there is an error that wraps
	// artifact.ErrNotFound.
	Event(ctx context.Context, seq int) (event string, err error)
}

// Config is the data source of the tools; each field but Source may be nil.
type Config struct {
	Store  tool.ArtifactReader
	Events EventReader
	// Saver keeps artifacts, File reads a file of the work tree, and Saved are the artifacts that the agent has saved so far.
	Saver tool.Artifacts
	File  func(path string, most int64) ([]byte, error)
	Saved func() []contextscope.Listed
	// Known are the handles that the agent was told of, to name the nearest one. It is called while tools run.
	Known  func() []string
	Memory Memory
	// Source names the author of a proposed note: run/task.
	Source string
}

type tools struct{ Config }

// Tools returns the tools.
func Tools(c Config) []tool.Tool {
	t := &tools{c}
	return []tool.Tool{
		tool.New(spec.ToolLoadArtifact,
			"Show the content of a handle, or a part of it, at the end of the next request only: a long output, "+
				"an artifact, an earlier event (event:12). Up to 40,000 characters.", tool.Reads, t.loadArtifact),
		tool.New(spec.ToolSaveArtifact, "Keep content or a file under a name, for others.", tool.Reads, t.saveArtifact),
		tool.New(spec.ToolLoadMemory,
			"Search the notes that people and earlier runs keep on this repository: decisions, known failures, "+
				"habits. Check them against the code.", tool.Reads, t.loadMemory),
		tool.New(spec.ToolSaveMemory,
			"Propose a note for later runs; a person decides. One fact that holds beyond this task and is not plain "+
				"from the code; no secrets.", tool.Reads, t.saveMemory),
	}
}
