// Package memory is what outlives a run: notes that people and git keep as Markdown in a repository, a search index over
// them that is derived and can be lost at any time, and proposals by agents, which become notes only when a person takes them.
package memory
