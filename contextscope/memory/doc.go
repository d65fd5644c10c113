// Package memory finds what outlives a run. Its input is the notes that people and git keep as Markdown in a repository and
// the proposals of agents; its output is ranked notes. The search index over them is derived and can be lost at any time. It
// never writes to the repository, but for a proposal that a person accepts.
package memory
