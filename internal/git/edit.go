package git

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// maxKept bounds the entries of the trees that an editor keeps, and the commits: about 8 MB.
const maxKept = 1 << 16

// editor makes trees and commits of a repository without a process for each. What it keeps never changes: an id stands for its
// content.
type editor struct {
	mu      sync.Mutex
	trees   map[string][]treeEntry
	entries int
	commits map[string]Commit
}

// EditTrees writes, for each list of changes, the tree of a commit or tree in which the new sides of the changes alone have taken
// the place of what was there. The new sides have to be in the repository; what the old ones say does not matter.
func (r *Repo) EditTrees(ctx context.Context, id string, lists [][]Change) ([]string, error) {
	if err := checkIDs(id); err != nil {
		return nil, err
	}
	var e editor
	out := make([]string, len(lists))
	for i, changes := range lists {
		var err error
		if out[i], err = e.edit(ctx, r, id, changes); err != nil {
			return nil, fmt.Errorf("edit the tree of %s: %w", id, err)
		}
	}
	return out, nil
}

// edit writes a tree as EditTrees does.
func (e *editor) edit(ctx context.Context, r *Repo, id string, changes []Change) (string, error) {
	edits := make([]treeEntry, 0, len(changes))
	for _, c := range changes {
		if c.NewMode != ModeNone {
			if err := checkIDs(c.NewOID); err != nil {
				return "", err
			}
			edits = append(edits, treeEntry{c.Path, c.NewMode, c.NewOID})
			continue
		}
		edits = append(edits, treeEntry{name: c.Path})
	}
	entries, err := e.tree(ctx, r, id)
	if err == nil {
		entries, err = e.apply(ctx, r, len(id), entries, edits)
	}
	if err != nil {
		return "", err
	}
	return e.write(r, len(id), entries)
}

// apply returns the entries of a directory after some edits, whose names are paths there; an edit without an id removes. Trees
// below are written; one that becomes empty goes, as git does it.
func (e *editor) apply(ctx context.Context, r *Repo, format int, entries, edits []treeEntry) ([]treeEntry, error) {
	own, below := map[string]treeEntry{}, map[string][]treeEntry{}
	for _, edit := range edits {
		name, rest, deeper := strings.Cut(edit.name, "/")
		if deeper {
			edit.name = rest
			below[name] = append(below[name], edit)
		} else {
			own[name] = edit
		}
	}
	now := make(map[string]treeEntry, len(entries)+len(edits))
	for _, entry := range entries {
		now[entry.name] = entry
	}
	for name, edit := range own {
		if edit.oid == "" && now[name].mode != modeTree { // what was a file may be a directory next
			delete(now, name)
		}
	}
	for name, edits := range below {
		dir, err := e.below(ctx, r, format, now[name], edits)
		if err != nil {
			return nil, err
		}
		if dir != "" {
			now[name] = treeEntry{name, modeTree, dir}
		} else if now[name].mode == modeTree {
			delete(now, name)
		}
	}
	for name, edit := range own {
		if edit.oid != "" {
			now[name] = edit
		}
	}
	return slices.SortedFunc(maps.Values(now), order), nil
}

// below writes the tree of an entry after some edits; "" for an empty one.
func (e *editor) below(ctx context.Context, r *Repo, format int, was treeEntry, edits []treeEntry) (string, error) {
	var entries []treeEntry
	var err error
	if was.mode == modeTree {
		entries, err = e.tree(ctx, r, was.oid)
	}
	if err == nil {
		entries, err = e.apply(ctx, r, format, entries, edits)
	}
	if err != nil || len(entries) == 0 {
		return "", err
	}
	return e.write(r, format, entries)
}

// order is that of git: a directory's name counts as if it ended in a slash.
func order(a, b treeEntry) int { return cmp.Compare(a.key(), b.key()) }

func (t treeEntry) key() string {
	if t.mode == modeTree {
		return t.name + "/"
	}
	return t.name
}

// write writes a tree object.
func (e *editor) write(r *Repo, format int, entries []treeEntry) (string, error) {
	var data []byte
	for _, entry := range entries {
		id, err := hex.DecodeString(entry.oid)
		if err != nil || len(entry.oid) != format {
			return "", fmt.Errorf("object id %q: %w", entry.oid, ErrBadName)
		}
		data = append(fmt.Appendf(data, "%s %s\x00", entry.mode, entry.name), id...)
	}
	id, err := writeLoose(r.Objects(), format, "tree", data)
	if err != nil {
		return "", fmt.Errorf("write a tree: %w", err)
	}
	e.keep(id, entries)
	return id, nil
}

// tree reads the tree of a commit, or one tree.
func (e *editor) tree(ctx context.Context, r *Repo, id string) ([]treeEntry, error) {
	e.mu.Lock()
	entries, kept := e.trees[id]
	e.mu.Unlock()
	if kept {
		return entries, nil
	}
	entries, err := r.readTree(ctx, id)
	if err == nil {
		e.keep(id, entries)
	}
	return entries, err
}

func (e *editor) keep(id string, entries []treeEntry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.trees == nil || e.entries+len(entries) > maxKept {
		e.trees, e.entries = map[string][]treeEntry{}, 0
	}
	if _, kept := e.trees[id]; !kept {
		e.trees[id], e.entries = entries, e.entries+len(entries)
	}
}

// commit reads one commit.
func (e *editor) commit(ctx context.Context, r *Repo, id string) (Commit, error) {
	e.mu.Lock()
	c, kept := e.commits[id]
	e.mu.Unlock()
	if kept {
		return c, nil
	}
	c, err := r.Commit(ctx, id)
	if err == nil {
		e.note(c)
	}
	return c, err
}

// note keeps a commit, without its message.
func (e *editor) note(c Commit) {
	c.Message = ""
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.commits == nil || len(e.commits) >= maxKept {
		e.commits = map[string]Commit{}
	}
	e.commits[c.ID] = c
}
