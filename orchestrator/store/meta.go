package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2/maybe"

	"divisi/bus"
	"divisi/internal/usage"
	"divisi/subagents/wire"
)

// Meta is run.json in a run's directory: what must be known before its log can be read.
type Meta struct {
	Repo string `json:"repo"`
	// NATS is the external server's address; empty for the run's own store.
	NATS string `json:"nats,omitempty"`
	// Login is the path of the file that logs in to it; empty for none.
	Login string `json:"login,omitempty"`
	// Order is the object that the run was submitted with, which stands for the repository; empty where that is here.
	Order string `json:"order,omitempty"`
	// Fetched is the commit of a submitted run that a person has published last.
	Fetched string `json:"fetched,omitempty"`
	// Warrant is the signature of the person who resumed the run last, in the place of the order's.
	Warrant *wire.Warrant `json:"warrant,omitempty"`
	// Record is the directory of the recording that the run was begun with.
	Record string `json:"record,omitempty"`
	// Plan is the absolute path of the plan file; empty where a master planned.
	Plan string `json:"plan,omitempty"`
	// Project is the absolute path of the project file that a person named; empty for none.
	Project string `json:"project,omitempty"`
	// Moves is the run whose landed work this one moves onto the commit Onto; both are empty for most.
	Moves string `json:"moves,omitempty"`
	Onto  string `json:"onto,omitempty"`
	// Demo reports that the repository is the demo's.
	Demo bool `json:"demo,omitempty"`
	// Strict reports that the run continues only where commands can be fully confined.
	Strict bool `json:"strict,omitempty"`
	// Twin are the commands that a person agreed to run outside the sandbox at the end.
	Twin []string `json:"twin,omitempty"`
	// Lost reports that the file is gone or damaged. The run's own store has what is needed.
	Lost bool `json:"-"`
}

// Server is that of the run.
func (m Meta) Server() Server { return Server{URL: m.NATS, Login: m.Login} }

// MetaPath is the description of the run whose directory is named.
func MetaPath(dir string) string { return filepath.Join(dir, "run.json") }

// ReadMeta reads the description of the run whose directory is named.
func ReadMeta(dir string) (m Meta, err error) {
	path := MetaPath(dir)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return withoutMeta(dir)
	}
	if err != nil {
		return m, fmt.Errorf("read a run's description: %w", err)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		if m, lost := withoutMeta(dir); lost == nil {
			return m, nil
		}
		return Meta{}, fmt.Errorf("the run's description %s is damaged: %w\n"+
			"Write {\"nats\": \"ADDRESS\"} into it, with the server of the run", path, err)
	}
	return m, nil
}

// withoutMeta describes a run without its description: it began if it has a store of its own.
func withoutMeta(dir string) (Meta, error) {
	if bus.HasStore(filepath.Join(dir, "bus")) {
		return Meta{Lost: true}, nil
	}
	return Meta{}, usage.With(usage.Errorf("%s is missing, and there is no store beside it: run %s was killed before it began, "+
		"or begins just now\nFor a run with a server of its own write {\"nats\": \"ADDRESS\"} into that file",
		MetaPath(dir), filepath.Base(dir)), usage.Began, filepath.Base(dir))
}

// Write writes the description of the run whose directory is named.
func (m Meta) Write(dir string) error {
	data, err := json.Marshal(m)
	if err == nil {
		err = maybe.WriteFile(MetaPath(dir), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("describe a run: %w", err)
	}
	return nil
}
