package environment

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"divisi/contextscope/artifact"
)

// remadeFile has what is known of an environment since it is complete.
const remadeFile = "remade.json"

// Remade is what came of another run of the setup over its environment, without network and without what it had derived.
type Remade struct {
	// Places are what it had derived, and Lack is why that did not make all of them again; "" where it did.
	Places []string `json:"places"`
	Lack   string   `json:"lack,omitempty"`
}

// Tried reports whether the other run was to make some places.
func (r *Remade) Tried(places []string) bool {
	return r != nil && !slices.ContainsFunc(places, func(name string) bool { return !slices.Contains(r.Places, name) })
}

// Made reports whether it made them.
func (r *Remade) Made(places []string) bool { return r.Tried(places) && r.Lack == "" }

// Remade is nil where that was not tried.
func (e *Environment) Remade() *Remade { return e.remade.Load() }

// KeepRemade keeps it for later runs.
func (e *Environment) KeepRemade(r Remade) error {
	data, err := json.Marshal(r)
	if err == nil {
		err = replaceFile(filepath.Join(e.Dir, remadeFile), data)
	}
	if err != nil {
		return fmt.Errorf("keep what is known of environment %s: %w", e.ID, err)
	}
	e.remade.Store(&r)
	return nil
}

// readRemade takes what is damaged for unknown.
func (e *Environment) readRemade() error {
	data, err := os.ReadFile(filepath.Join(e.Dir, remadeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var r Remade
	if err == nil && json.Unmarshal(data, &r) == nil {
		e.remade.Store(&r)
	}
	return err
}

// told is the name of the environment in receipts: a machine that cannot make derived files again proves nothing for another.
func (e *Environment) told() string {
	r := e.Remade()
	if r == nil || r.Lack != "" {
		return e.Digest
	}
	return artifact.Digest([]byte(e.Digest + strings.Join(r.Places, "\x00")))
}
