package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"modernc.org/sqlite"
)

// Options say where a memory is.
type Options struct {
	// Repo is the top of the repository whose notes, in Place below it, these are.
	Repo string
	// Home is the directory of this repository's index and proposals, as Home names it. It is made when it is needed; empty
	// keeps the index in memory and takes no proposals.
	Home string
	// Clock dates notes and proposals; nil means time.Now.
	Clock func() time.Time
	// Note takes what a person should know of a search, such as that it fell back to words; nil drops it. It may be called by
	// several goroutines.
	Note func(string)
}

// Memory is the notes of one repository with an index over them. It is safe for concurrent use, also by several processes.
type Memory struct {
	shelf shelf
	home  string
	clock func() time.Time
	note  func(string)

	// mu guards the index, which is exchanged when it is found broken.
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
	m := &Memory{shelf: shelf{o.Repo}, home: o.Home, clock: o.Clock, note: o.Note}
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
	ix, problem, err := openIndex(ctx, m.indexFile())
	if err != nil {
		return nil, nil, fmt.Errorf("open the memory of %s: %w", o.Repo, err)
	}
	m.index = ix
	problems, err := m.Refresh(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, m.Close())
	}
	if problem != nil {
		problems = append(problems, *problem)
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

// List returns all notes, in the order of their names.
func (m *Memory) List(ctx context.Context) ([]Note, error) {
	var notes []Note
	err := m.look(ctx, "list the notes", func() (err error) {
		notes, err = m.index.notes(ctx)
		return err
	})
	return notes, err
}

// Add writes a note into the repository, under a name made of its title, and returns that name. Nothing is overwritten.
func (m *Memory) Add(ctx context.Context, n Note) (string, error) {
	if n.Created.IsZero() {
		n.Created = m.clock()
	}
	name, err := m.shelf.add(n)
	if err != nil {
		return "", fmt.Errorf("add a note: %w", err)
	}
	_, err = m.Refresh(ctx)
	return name, err
}

// Remove deletes a note's file from the repository. It wraps ErrNotFound when there is none.
func (m *Memory) Remove(ctx context.Context, name string) error {
	if err := m.shelf.remove(name); err != nil {
		return err
	}
	_, err := m.Refresh(ctx)
	return err
}

// look does something with the index under the lock.
func (m *Memory) look(ctx context.Context, what string, do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.healed(ctx, do); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Refresh brings the index up to date with the files: what changed since is read again. The problems are as Open's.
func (m *Memory) Refresh(ctx context.Context) ([]Problem, error) {
	var problems []Problem
	err := m.look(ctx, "bring the memory of "+m.shelf.repo+" up to date", func() (err error) {
		problems, err = m.sync(ctx)
		return err
	})
	return problems, err
}

// healed does something with the index. When the index turns out to be broken, it is made anew and the same done once more.
// What cannot be kept in the file any more is kept in memory.
func (m *Memory) healed(ctx context.Context, do func() error) error {
	err := do()
	if err == nil || ctx.Err() != nil || !broken(err) && !errors.As(err, new(*sqlite.Error)) {
		return err
	}
	m.note("the search index is made anew: " + err.Error())
	_ = m.index.close() // it is thrown away
	file := ""
	if broken(err) && m.home != "" {
		file = m.indexFile()
		removeIndex(file)
	}
	ix, problem, err := openIndex(ctx, file)
	if err != nil {
		return err
	}
	if problem != nil {
		m.note(problem.String())
	}
	m.index = ix
	if _, err := m.sync(ctx); err != nil {
		return err
	}
	return do()
}
