package environment

import (
	"divisi/contextscope/artifact"
	"divisi/internal/spec"
)

// Recipe is everything that the content of an environment depends on, and what receipts are compared by.
type Recipe struct {
	// Command is the setup, empty for none. Loopback reports that it reaches this machine's own addresses.
	Command  []string `json:"command,omitempty"`
	Loopback bool     `json:"loopback,omitempty"`
	// Env is the digest of the setup's variables, registries' addresses among them.
	Env string `json:"env,omitempty"`
	// Files are the ids of the files that it depends on, by their paths; that of the whole tree is at WholeTree.
	Files map[string]string `json:"files,omitempty"`
	// Programs are the digests of the programs that it may call, by their names.
	Programs map[string]string `json:"programs,omitempty"`
	// System, Arch and Level are those of the machine: of its commands Level reports how they are confined.
	System string `json:"system"`
	Arch   string `json:"arch"`
	Level  string `json:"level"`
}

// WholeTree is the path in Recipe.Files that stands for all files.
const WholeTree = "."

// Key stands for the recipe.
func (r *Recipe) Key() string { return artifact.Digest([]byte(spec.JSONText(r))) }

// Digest names the environment in receipts: those of another one are not compared with it.
func (r *Recipe) Digest() string {
	return artifact.Digest([]byte(spec.JSONText([]any{r.Key(), r.System, r.Arch, r.Level, r.Programs})))
}

// idLength is how much of its key is the name of an environment.
const idLength = 32

// ID is the name of the recipe's environment in a store.
func (r *Recipe) ID() string { return r.Key()[:idLength] }
