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

// Remade is what came of another run of the setup over its environment, without network and without some places that it had
// derived.
type Remade struct {
	Places []string `json:"places"`
	// Lack is why that did not make all of them again; "" where it did.
	Lack string `json:"lack,omitempty"`
}

// Made reports whether it made them.
func (r *Remade) Made() bool { return r != nil && r.Lack == "" }

// Remade is nil where that was not tried with just these places.
func (e *Environment) Remade(places []string) *Remade {
	all := e.remade.Load()
	if all == nil {
		return nil
	}
	for i := range *all {
		if slices.Equal((*all)[i].Places, places) {
			return &(*all)[i]
		}
	}
	return nil
}

// KeepRemade keeps it for later runs.
func (e *Environment) KeepRemade(r Remade) error {
	all := []Remade{r}
	if had := e.remade.Load(); had != nil {
		same := func(o Remade) bool { return slices.Equal(o.Places, r.Places) }
		all = append(all, slices.DeleteFunc(slices.Clone(*had), same)...)
	}
	data, err := json.Marshal(all)
	if err == nil {
		err = replaceFile(filepath.Join(e.Dir, remadeFile), data)
	}
	if err != nil {
		return fmt.Errorf("keep what is known of environment %s: %w", e.ID, err)
	}
	e.remade.Store(&all)
	return nil
}

// readRemade takes what is damaged for unknown.
func (e *Environment) readRemade() error {
	data, err := os.ReadFile(filepath.Join(e.Dir, remadeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var all []Remade
	if err == nil && json.Unmarshal(data, &all) == nil {
		e.remade.Store(&all)
	}
	return err
}

// told is the name of the environment in receipts: a machine that cannot make derived files again proves nothing for another.
func (e *Environment) told(globs []string) string {
	places := e.Derived(globs)
	if !e.Remade(places).Made() {
		return e.Digest
	}
	return artifact.Digest([]byte(e.Digest + strings.Join(places, "\x00")))
}
