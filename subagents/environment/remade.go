package environment

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"divisi/contextscope/artifact"
)

// remadeFile has what is known of an environment since it is complete.
const remadeFile = "remade.json"

// remade is what came of other runs of the setup over its environment, without network and without some places that it had
// derived: by these, why it did not make all of them again; "" where it did.
type remade map[string]string

func keyOf(places []string) string { return strings.Join(places, "\x00") }

// Remade is the result of another run of the setup without some places; tried is false where there was none.
func (e *Environment) Remade(places []string) (lack string, tried bool) {
	if all := e.remade.Load(); all != nil {
		lack, tried = (*all)[keyOf(places)]
	}
	return lack, tried
}

// Remakes reports whether it made them.
func (e *Environment) Remakes(places []string) bool {
	lack, tried := e.Remade(places)
	return tried && lack == ""
}

// KeepRemade keeps it for later runs.
func (e *Environment) KeepRemade(places []string, lack string) error {
	all := remade{}
	if had := e.remade.Load(); had != nil {
		all = maps.Clone(*had)
	}
	all[keyOf(places)] = lack
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
	var all remade
	if err == nil && json.Unmarshal(data, &all) == nil && all != nil {
		e.remade.Store(&all)
	}
	return err
}

// told is the name of the environment in receipts: a machine that cannot make derived files again proves nothing for another.
func (e *Environment) told(globs []string) string {
	places := e.Derived(globs)
	if !e.Remakes(places) {
		return e.Digest
	}
	return artifact.Digest([]byte(e.Digest + keyOf(places)))
}
