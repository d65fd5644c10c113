package mutant

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"time"
)

// tree is a directory whose files have other texts for a while.
type tree struct {
	dir string
	// first are the texts of files when they were read, last those that were written; nil for a file that is not there.
	first, last map[string][]byte
	writes      int
}

func newTree(dir string) *tree {
	return &tree{dir: dir, first: map[string][]byte{}, last: map[string][]byte{}}
}

// read returns a regular file as it was at first; nil where there is none, or it is too large.
func (t *tree) read(file string) ([]byte, error) {
	if data, had := t.first[file]; had {
		return data, nil
	}
	dir, err := os.OpenRoot(t.dir)
	if err != nil {
		return nil, fmt.Errorf("open the tree: %w", err)
	}
	defer dir.Close() // it is read only
	t.first[file] = nil
	info, err := dir.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSource {
		return nil, nil // what is made elsewhere, or a link, stays as it is
	}
	data, err := dir.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read %s for mutants: %w", file, err)
	}
	t.first[file] = append([]byte{}, data...)
	return t.first[file], nil
}

// maxWrites is more than the files that one experiment writes: their times stay in the past.
const maxWrites = 100_000

// write gives a file a text, with a time that none before it had: interpreters keep what they compiled by the time. nil removes
// it.
func (t *tree) write(file string, text []byte) error {
	last, written := t.last[file]
	if !written {
		last = t.first[file]
	}
	if bytes.Equal(last, text) && (last == nil) == (text == nil) {
		return nil
	}
	dir, err := os.OpenRoot(t.dir)
	if err != nil {
		return fmt.Errorf("open the tree: %w", err)
	}
	defer dir.Close() // what is written is closed
	t.last[file] = text
	if text == nil {
		if err := dir.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove %s: %w", file, err)
		}
		return nil
	}
	if err := dir.MkdirAll(path.Dir(file), 0o700); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := dir.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	t.writes++
	at := time.Now().Add(time.Duration(t.writes-maxWrites) * time.Second)
	if err := dir.Chtimes(file, at, at); err != nil {
		return fmt.Errorf("date %s: %w", file, err)
	}
	return nil
}
