package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2/maybe"
)

// maxFile bounds a decision's file; it is far above the requests of any repository.
const maxFile = 16 << 20

// ErrInside reports that the directory for decisions lies in the repository.
var ErrInside = errors.New("lies inside the repository, which could bring its own decision")

// Store keeps the decision about one repository in a file.
type Store struct{ path, repository string }

// Open returns the place in dir, which need not exist, for the decision about a repository with this identity. trees are the real
// paths of its work trees; a directory inside one of them is ErrInside.
func Open(dir, identity, repository string, trees ...string) (*Store, error) {
	if inside(dir, trees) {
		return nil, fmt.Errorf("%s %w", dir, ErrInside)
	}
	return &Store{filepath.Join(dir, identity+".json"), repository}, nil
}

// The subjects of other decisions about a repository: whether its commands may run outside the sandbox, and with other versions
// of programs than its files name; and which role files and coding agent a program may start runs with.
const (
	Twin  = "twin"
	Pins  = "pins"
	Roles = "roles"
)

// List is the place of the decision about exactly this list of a subject, which leaves those about other lists.
func (s *Store) List(subject string, requests []string) *Store {
	return s.About(subject + "." + hash(requests))
}

// About is the place of the decision about a subject.
func (s *Store) About(subject string) *Store {
	return &Store{strings.TrimSuffix(s.path, ".json") + "." + subject + ".json", s.repository}
}

// inside reports whether a directory, or the nearest one above it that exists, lies in one of the trees.
func inside(dir string, trees []string) bool {
	at, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return dir != filepath.Dir(dir) && inside(filepath.Dir(dir), trees)
	}
	for _, tree := range trees {
		if rel, err := filepath.Rel(tree, at); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// Read returns the decision; nil where there is none. An error means that there is none that counts.
func (s *Store) Read() (d *Decision, err error) {
	info, err := os.Lstat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxFile) {
		err = errors.New("it is damaged: it is not a regular file, or too large")
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(s.path)
	}
	if err == nil {
		d, err = Parse(data, s.repository)
	}
	if err != nil {
		return nil, fmt.Errorf("the decision in %s does not count: %w", s.path, err)
	}
	return d, nil
}

// Write stores a decision in the place of an earlier one.
func (s *Store) Write(requests []string, at time.Time) (*Decision, error) {
	d := &Decision{Format: format, Repository: s.repository, Requests: requests, Hash: hash(requests), Agreed: at}
	data, err := json.MarshalIndent(d, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(s.path), 0o700)
	}
	if err == nil {
		err = maybe.WriteFile(s.path, append(data, '\n'), 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("store the decision: %w", err)
	}
	return d, nil
}

// Forget removes the decision and those about its subjects, also ones that do not count, and reports whether there was one.
func (s *Store) Forget() (had bool, err error) {
	dir, prefix := filepath.Split(strings.TrimSuffix(s.path, "json"))
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), prefix) {
			had, err = true, errors.Join(err, os.Remove(filepath.Join(dir, f.Name())))
		}
	}
	return had, err
}
