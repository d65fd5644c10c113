package git

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Edit makes the tree of a commit or tree in which the new sides of changes alone have taken the place of what was there. The new
// sides have to be in the repository; what the old ones say does not matter.
func (d *Draft) Edit(ctx context.Context, id string, changes []Change) (string, error) {
	if err := checkIDs(id); err != nil {
		return "", err
	}
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
	entries, err := d.tree(ctx, id)
	if err == nil {
		entries, err = d.apply(ctx, entries, edits)
	}
	var tree string
	if err == nil {
		tree, err = d.write(entries)
	}
	if err == nil && (d.bytes > maxDraft || d.entries > 2*maxKept) {
		err = d.Flush(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("edit the tree of %s: %w", id, err)
	}
	return tree, nil
}

// apply returns the entries of a directory after some edits, whose names are paths there; an edit without an id removes. Trees
// below are written; one that becomes empty goes, as git does it.
func (d *Draft) apply(ctx context.Context, entries, edits []treeEntry) ([]treeEntry, error) {
	var added []treeEntry
	now, below := slices.Clone(entries), map[string][]treeEntry{}
	for _, edit := range edits {
		name, rest, deeper := strings.Cut(edit.name, "/")
		switch {
		case deeper:
			edit.name = rest
			below[name] = append(below[name], edit)
		case edit.oid != "":
			added = append(added, edit)
		case entryOf(now, name).mode != modeTree: // what was a file may be a directory next
			now = without(now, name)
		}
	}
	for name, edits := range below {
		was := entryOf(now, name)
		dir, err := d.below(ctx, was, edits)
		switch {
		case err != nil:
			return nil, err
		case dir != "":
			now = with(now, treeEntry{name, modeTree, dir})
		case was.mode == modeTree:
			now = without(now, name)
		}
	}
	for _, edit := range added {
		now = with(now, edit)
	}
	return now, nil
}

// search finds the place of an entry in the order of git, where a directory's name counts as if it ended in a slash.
func search(entries []treeEntry, key string) (int, bool) {
	return slices.BinarySearchFunc(entries, key, func(e treeEntry, key string) int { return cmp.Compare(e.key(), key) })
}

// entryOf is the entry of a name; without an id where there is none.
func entryOf(entries []treeEntry, name string) treeEntry {
	for _, key := range []string{name, name + "/"} {
		if i, found := search(entries, key); found {
			return entries[i]
		}
	}
	return treeEntry{}
}

func without(entries []treeEntry, name string) []treeEntry {
	if was := entryOf(entries, name); was.oid != "" {
		i, _ := search(entries, was.key())
		return slices.Delete(entries, i, i+1)
	}
	return entries
}

// with puts an entry in the place of the one of its name.
func with(entries []treeEntry, e treeEntry) []treeEntry {
	i, found := search(entries, e.key())
	if found {
		entries[i] = e
		return entries
	}
	entries = without(entries, e.name)
	i, _ = search(entries, e.key())
	return slices.Insert(entries, i, e)
}

// below writes the tree of an entry after some edits; "" for an empty one.
func (d *Draft) below(ctx context.Context, was treeEntry, edits []treeEntry) (string, error) {
	var entries []treeEntry
	var err error
	if was.mode == modeTree {
		entries, err = d.tree(ctx, was.oid)
	}
	if err == nil {
		entries, err = d.apply(ctx, entries, edits)
	}
	if err != nil || len(entries) == 0 {
		return "", err
	}
	return d.write(entries)
}

func (t treeEntry) key() string {
	if t.mode == modeTree {
		return t.name + "/"
	}
	return t.name
}

// write makes a tree object.
func (d *Draft) write(entries []treeEntry) (string, error) {
	data, err := treeContent(entries, len(d.r.base))
	if err != nil {
		return "", err
	}
	id := objectID(len(d.r.base), withHeader("tree", data))
	_, made := d.trees[id]
	if _, kept := d.r.memo.tree(id); !made && !kept {
		d.keep(id, entries)
		d.put("tree", data)
	}
	return id, nil
}

// treeContent is a tree object without git's header; format is the length of an id.
func treeContent(entries []treeEntry, format int) (data []byte, err error) {
	for _, entry := range entries {
		id, err := hex.DecodeString(entry.oid)
		if err != nil || len(entry.oid) != format {
			return nil, fmt.Errorf("object id %q: %w", entry.oid, ErrBadName)
		}
		data = append(fmt.Appendf(data, "%s %s\x00", entry.mode, entry.name), id...)
	}
	return data, nil
}
