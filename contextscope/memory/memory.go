// Package memory finds notes that outlive a run. Its input is the notes that people and git keep as Markdown in a repository and
// the proposals of agents; its output is ranked notes. It never writes to the repository, but for a proposal that a person
// accepts.
package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options say where a memory is.
type Options struct {
	// Repo is the top of the repository whose notes, in Place below it, these are.
	Repo string
	// Home is the directory of this repository's proposals, as Home names it. It is made when it is needed; empty takes no
	// proposals.
	Home string
	// Clock dates proposals; nil means time.Now.
	Clock func() time.Time
}

// Memory is the notes of one repository with an index over them. It is safe for concurrent use, also by several processes.
type Memory struct {
	notes notesDir
	home  string
	clock func() time.Time

	// mu guards the index, which Refresh exchanges.
	mu    sync.Mutex
	index index
}

// Home is where the proposals of a repository are kept below a state directory.
func Home(stateDir, repo string) string {
	if abs, err := filepath.Abs(repo); err == nil {
		repo = abs
	}
	if resolved, err := filepath.EvalSymlinks(repo); err == nil {
		repo = resolved
	}
	sum := sha256.Sum256([]byte(repo))
	return filepath.Join(stateDir, "memory", hex.EncodeToString(sum[:8]))
}

// Open opens the memory of a repository. The problems are notes that could not be read; all others are there. A repository
// without notes has an empty memory.
func Open(ctx context.Context, o Options) (*Memory, []Problem, error) {
	m := &Memory{notes: notesDir{o.Repo}, home: o.Home, clock: o.Clock}
	if m.clock == nil {
		m.clock = time.Now
	}
	if info, err := os.Stat(o.Repo); err != nil {
		return nil, nil, fmt.Errorf("open the memory: %w", err)
	} else if !info.IsDir() {
		return nil, nil, fmt.Errorf("open the memory: %s is not a directory", o.Repo)
	}
	problems, err := m.Refresh(ctx)
	if err != nil {
		return nil, nil, err
	}
	return m, problems, nil
}

// List returns all notes that can be read, in the order of their names. The others are among the problems of Open and Refresh.
func (m *Memory) List(ctx context.Context) ([]Note, error) {
	dir, err := m.notes.open(false)
	if dir == nil || err != nil {
		return nil, ctx.Err()
	}
	defer func() { _ = dir.Close() }()
	found, _, err := files(dir)
	if err != nil {
		return nil, fmt.Errorf("list the notes: %w", err)
	}
	var notes []Note
	for _, f := range found {
		if n, fault := load(dir, f); fault == nil {
			notes = append(notes, n)
		}
	}
	slices.SortFunc(notes, func(a, b Note) int { return strings.Compare(a.Name, b.Name) })
	return notes, ctx.Err()
}

// Refresh brings the index up to date with the files: only what changed since is read. The problems are as Open's.
func (m *Memory) Refresh(ctx context.Context) ([]Problem, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, err := m.notes.open(false)
	if dir == nil || err != nil {
		m.index = nil
		return unreadable(err), ctx.Err()
	}
	defer func() { _ = dir.Close() }()
	found, problems, err := files(dir)
	if err != nil {
		return nil, fmt.Errorf("list the notes of %s: %w", m.notes.repo, err)
	}
	next, known := index{}, map[string][]string{}
	for _, f := range found {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("read the notes of %s: %w", m.notes.repo, err)
		}
		if had := m.index[f.name]; had != nil && had.file == f {
			next[f.name] = had
			continue
		}
		n, fault := load(dir, f)
		if fault != nil {
			problems = append(problems, *fault)
			continue
		}
		// A new file can be written once more without a change of its size and time: it is to be read again.
		const coarse = 2 * time.Second
		if m.clock().UnixNano()-f.mtime < int64(coarse) {
			f.mtime = 0
		}
		next[f.name] = newEntry(f, &n, known)
	}
	m.index = next
	return problems, nil
}

// unreadable is the problem of a directory of notes that cannot be opened; none for one that is not there.
func unreadable(err error) []Problem {
	if err == nil {
		return nil
	}
	return []Problem{{File: Place, Message: "it cannot be read: " + reason(err)}}
}

// load reads one note.
func load(dir *os.Root, f file) (Note, *Problem) {
	raw, err := read(dir, f)
	if err != nil {
		return Note{}, &Problem{File: f.path(), Message: "it cannot be read: " + reason(err)}
	}
	n, err := Parse(f.name, raw)
	if fault := new(ParseError); errors.As(err, &fault) {
		at := fault.Problem
		at.File = f.path()
		return Note{}, &at
	}
	return n, nil
}
