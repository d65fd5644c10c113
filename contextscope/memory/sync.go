package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"
)

// sync brings the index up to date with the files and returns what is wrong with them. Only what changed is read.
func (m *Memory) sync(ctx context.Context) ([]Problem, error) {
	known, err := m.index.known(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := m.shelf.open(false)
	if err != nil {
		return []Problem{{File: Place, Message: "it cannot be read: " + reason(err)}}, m.index.update(ctx, names(known), nil)
	}
	if dir == nil {
		return nil, m.index.update(ctx, names(known), nil)
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
		e, err := m.load(dir, f)
		if err != nil {
			problems = append(problems, *err)
			continue
		}
		delete(known, f.name)
		changed = append(changed, e)
	}
	return problems, m.index.update(ctx, names(known), changed)
}

// load reads one note for the index.
func (m *Memory) load(dir *os.Root, f file) (entry, *Problem) {
	raw, err := read(dir, f)
	if err != nil {
		return entry{}, &Problem{File: f.path(), Message: "it cannot be read: " + reason(err)}
	}
	n, err := Parse(f.name, raw)
	if fault := new(ParseError); errors.As(err, &fault) {
		at := fault.Problem
		at.File = f.path()
		return entry{}, &at
	}
	// A file that was written only now can be written once more without a change of its size and time: it is to be read again.
	const coarse = 2 * time.Second
	if m.clock().UnixNano()-f.mtime < int64(coarse) {
		f.mtime = 0
	}
	return entry{file: f, note: n, raw: raw}, nil
}

func names[V any](known map[string]V) []string { return slices.Sorted(maps.Keys(known)) }
