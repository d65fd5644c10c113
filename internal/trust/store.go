package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2/maybe"
)

// maxFile bounds a decision's file; it is far above the requests of any repository.
const maxFile = 16 << 20

// ErrInside says that the directory for decisions lies in the repository: a clone could bring its own decision.
var ErrInside = errors.New("lies inside the repository, which could bring its own decision")

// Store keeps one file for each repository.
type Store struct{ dir string }

// Open returns the store in a directory, which need not exist. A directory inside one of the work trees is ErrInside.
func Open(dir string, trees ...string) (*Store, error) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", dir, err)
	}
	real, err := existing(at)
	switch {
	case err != nil:
		return nil, fmt.Errorf("resolve %s: %w", dir, err)
	case inside(real, trees):
		return nil, fmt.Errorf("%s %w", dir, ErrInside)
	}
	return &Store{at}, nil
}

// existing is the real path of a directory, or of the nearest one above it that exists.
func existing(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		return existing(filepath.Dir(dir))
	}
	return real, err //nolint:wrapcheck // the caller names the directory
}

// inside reports whether a directory or one above it is one of the trees. Files are compared, because paths can differ in case.
func inside(dir string, trees []string) bool {
	for {
		here, err := os.Stat(dir)
		for _, tree := range trees {
			if top, terr := os.Stat(tree); err == nil && terr == nil && os.SameFile(here, top) {
				return true
			}
		}
		if dir == filepath.Dir(dir) {
			return false
		}
		dir = filepath.Dir(dir)
	}
}

// Path is the file of a repository with this identity.
func (s *Store) Path(identity string) string { return filepath.Join(s.dir, identity+".json") }

// Read returns the decision about a repository; nil where there is none. An error means that there is none that counts.
func (s *Store) Read(identity, repository string) (*Decision, error) {
	path := s.Path(identity)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var d *Decision
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errors.New("it is not a regular file")
	default:
		d, err = readFile(path, repository)
	}
	if err != nil {
		return nil, fmt.Errorf("the decision in %s does not count: %w", path, err)
	}
	return d, nil
}

func readFile(path, repository string) (*Decision, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller names the file
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller names the file
	}
	return Parse(data, repository)
}

// Write stores a decision in the place of an earlier one.
func (s *Store) Write(identity string, d Decision) error {
	data, err := json.MarshalIndent(d, "", "  ")
	if err == nil && len(data) >= maxFile {
		err = errors.New("the repository requests too much")
	}
	if err == nil {
		err = os.MkdirAll(s.dir, 0o700)
	}
	if err == nil {
		err = maybe.WriteFile(s.Path(identity), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("store the decision: %w", err)
	}
	return nil
}

// Forget removes the decision about a repository, and reports whether there was one, also one that does not count.
func (s *Store) Forget(identity string) (bool, error) {
	err := os.Remove(s.Path(identity))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("forget the decision: %w", err)
	}
	return true, nil
}
