package environment

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"divisi/internal/sandbox"
)

// The parts of an environment's directory.
const (
	treeDir      = "tree"
	toolsDir     = "tools"
	storesDir    = "stores"
	manifestFile = "manifest.json"
	contentFile  = "content"
)

// Manifest describes an environment. It is written last: a directory without one is not complete.
type Manifest struct {
	// ID is the name of its directory, the beginning of Key; Digest names it in receipts.
	ID     string `json:"id"`
	Key    string `json:"key"`
	Digest string `json:"digest"`
	// Recipe is the content behind Key.
	Recipe Recipe    `json:"recipe"`
	Made   time.Time `json:"made"`
	// Places are the directories that it lays under a work tree, Files the single files, and the small directories that a build
	// makes, that are copied into it: paths from the top of the tree, with slashes, sorted, none below another.
	Places []string `json:"places,omitempty"`
	Files  []string `json:"files,omitempty"`
	// Copies are the directories of the tree whose packages it has a copy of.
	Copies []string `json:"copies,omitempty"`
	// Read is what the setup read of its tree; nil where that is not known.
	Read *Read `json:"read,omitempty"`
	// Downloads are the files that the setup left in the caches of the repository, from their directory on; without it gates may
	// lack something.
	Downloads []string `json:"downloads,omitempty"`
	// Lacks are the optional parts that the setup has not installed; Passing reports that a later try may do.
	Lacks   []string `json:"lacks,omitempty"`
	Passing bool     `json:"passing,omitempty"`
	// Notes are hints about the making.
	Notes []string `json:"notes,omitempty"`
	// Entries and Bytes are the size of it all; Content is the digest of the list of it.
	Entries int    `json:"entries"`
	Bytes   int64  `json:"bytes"`
	Content string `json:"content"`
}

// Environment is a complete one.
type Environment struct {
	Manifest

	// Dir is its directory, which nothing writes any more.
	Dir string

	remade  *atomic.Pointer[remade]
	release func()
}

// Lower returns where what it has at one of its places or files lies on this machine.
func (e *Environment) Lower(path string) string {
	return filepath.Join(e.Dir, treeDir, filepath.FromSlash(path))
}

// Layers are its directories below a tree; nil for no environment.
func (e *Environment) Layers() (layers []sandbox.Layer) {
	if e == nil {
		return nil
	}
	for _, path := range e.Places {
		layers = append(layers, sandbox.Layer{Path: path, Lower: e.Lower(path)})
	}
	return layers
}

// Tools is the directory that commands see as $DIVISI_TOOLS.
func (e *Environment) Tools() string { return filepath.Join(e.Dir, toolsDir) }

// Stores is the directory of what package managers would keep in a home.
func (e *Environment) Stores() string { return filepath.Join(e.Dir, storesDir) }

// there reports whether a path exists, whatever it is.
func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
