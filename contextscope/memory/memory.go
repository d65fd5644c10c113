// Package memory finds what outlives a run. Its input is the notes that people and git keep as Markdown in a repository and
// the proposals of agents; its output is ranked notes. The search index over them is derived and can be lost at any time. It
// never writes to the repository, but for a proposal that a person accepts.
package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
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
	// Home is the directory of this repository's index and proposals, as Home names it. It is made when it is needed; empty
	// keeps the index in memory and takes no proposals.
	Home string
	// Clock dates proposals; nil means time.Now.
	Clock func() time.Time
	// Note takes what a person should know, such as that the index was rebuilt; nil drops it. It may be called by several
	// goroutines.
	Note func(string)
}

// Memory is the notes of one repository with an index over them. It is safe for concurrent use, also by several processes.
type Memory struct {
	notes notesDir
	home  string
	clock func() time.Time
	note  func(string)

	// mu guards the index, which is exchanged when it is rebuilt.
	mu    sync.Mutex
	index *index
}

// Home is where the index and the proposals of a repository are kept below a state directory.
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

// Open opens the memory of a repository and brings its index up to date. The problems are notes that could not be read; all
// others are there. A repository without notes has an empty memory.
func Open(ctx context.Context, o Options) (*Memory, []Problem, error) {
	m := &Memory{notes: notesDir{o.Repo}, home: o.Home, clock: o.Clock, note: o.Note}
	if m.clock == nil {
		m.clock = time.Now
	}
	if m.note == nil {
		m.note = func(string) {}
	}
	if info, err := os.Stat(o.Repo); err != nil {
		return nil, nil, fmt.Errorf("open the memory: %w", err)
	} else if !info.IsDir() {
		return nil, nil, fmt.Errorf("open the memory: %s is not a directory", o.Repo)
	}
	ix, err := openIndex(ctx, m.indexFile())
	if err != nil {
		ix, err = m.rebuilt(ctx, err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open the memory of %s: %w", o.Repo, err)
	}
	m.index = ix
	problems, err := m.Refresh(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, m.Close())
	}
	return m, problems, nil
}

func (m *Memory) indexFile() string {
	if m.home == "" {
		return ""
	}
	return filepath.Join(m.home, "index.sqlite")
}

// Close gives the index back. The memory cannot be used after it.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.index.close(); err != nil {
		return fmt.Errorf("close the memory: %w", err)
	}
	return nil
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

// Refresh brings the index up to date with the files: what changed since is read again. The problems are as Open's.
func (m *Memory) Refresh(ctx context.Context) (problems []Problem, err error) {
	err = m.look(ctx, "bring the memory of "+m.notes.repo+" up to date", func() error {
		problems, err = m.sync(ctx)
		return err
	})
	return problems, err
}

// look does something with the index under the lock. When that fails the index is rebuilt and the same done once more.
func (m *Memory) look(ctx context.Context, what string, do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := do()
	if err != nil && ctx.Err() == nil {
		err = m.again(ctx, err, do)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// again rebuilds the index and does something with it once more.
func (m *Memory) again(ctx context.Context, why error, do func() error) error {
	_ = m.index.close() // it is thrown away
	ix, err := m.rebuilt(ctx, why)
	if err != nil {
		return err
	}
	m.index = ix
	if _, err := m.sync(ctx); err != nil {
		return err
	}
	return do()
}

// rebuilt returns an empty index in the place of one that failed: in its file, or in memory where the file cannot be used.
func (m *Memory) rebuilt(ctx context.Context, why error) (*index, error) {
	if ctx.Err() != nil {
		return nil, why
	}
	m.note("the search index is rebuilt: " + why.Error())
	if file := m.indexFile(); file != "" && !sound(why) {
		removeIndex(file)
		ix, err := openIndex(ctx, file)
		if err == nil {
			return ix, nil
		}
		m.note("the search index is kept in memory: " + err.Error())
	}
	return openIndex(ctx, "")
}

// sync brings the index up to date with the files and returns what is wrong with them. Only what changed is read.
func (m *Memory) sync(ctx context.Context) ([]Problem, error) {
	known, err := m.index.known(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := m.notes.open(false)
	if dir == nil || err != nil {
		return unreadable(err), m.index.update(ctx, slices.Sorted(maps.Keys(known)), nil)
	}
	defer func() { _ = dir.Close() }()
	found, problems, err := files(dir)
	if err != nil {
		return nil, fmt.Errorf("list the notes: %w", err)
	}
	var changed []entry
	for _, f := range found {
		if had, ok := known[f.name]; ok && had == f {
			delete(known, f.name)
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
		delete(known, f.name)
		changed = append(changed, entry{file: f, note: n})
	}
	return problems, m.index.update(ctx, slices.Sorted(maps.Keys(known)), changed)
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
