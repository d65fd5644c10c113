package git

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
)

const (
	// modeTree is the mode of a tree in a tree, as git writes it there.
	modeTree = "40000"
	// maxTree bounds a tree object, in bytes.
	maxTree = 64 << 20
)

// treeEntry is one name in a tree; without an id it is not there.
type treeEntry struct{ name, mode, oid string }

// readTree reads the tree of a commit, or one tree.
func (r *Repo) readTree(ctx context.Context, id string) ([]treeEntry, error) {
	data, kind, err := r.object(ctx, id+"^{tree}", maxTree)
	if err == nil && kind != "tree" {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read tree %s: %w", id, err)
	}
	return parseTreeObject(data, len(id)/2)
}

// parseTreeObject reads "mode name\0id" again and again; the id has width bytes.
func parseTreeObject(data []byte, width int) ([]treeEntry, error) {
	var entries []treeEntry
	for len(data) > 0 {
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, named := strings.Cut(string(head), " ")
		if !ok || !named || name == "" || strings.Contains(name, "/") || len(rest) < width {
			return nil, fmt.Errorf("tree entry %.80q: %w", head, errFormat)
		}
		entries = append(entries, treeEntry{name, mode, hex.EncodeToString(rest[:width])})
		data = rest[width:]
	}
	return entries, nil
}

// Lookup finds files of a commit or tree by their paths, in their order. What is not there has no mode. Sizes are left out.
func (r *Repo) Lookup(ctx context.Context, id string, paths []string) ([]Entry, error) {
	if err := checkIDs(id); err != nil {
		return nil, err
	}
	dirs := map[string][]treeEntry{}
	out := make([]Entry, len(paths))
	for i, p := range paths {
		e, err := r.lookup(ctx, id, p, dirs)
		if err != nil {
			return nil, fmt.Errorf("look for %s in %s: %w", p, id, err)
		}
		if out[i].Path = p; e.mode != modeTree {
			out[i].Mode, out[i].OID = e.mode, e.oid
		}
	}
	return out, nil
}

// lookup finds one entry below a tree; dirs are the directories that were read before.
func (r *Repo) lookup(ctx context.Context, top, p string, dirs map[string][]treeEntry) (treeEntry, error) {
	dir, tree := path.Dir(p), top
	entries, read := dirs[dir]
	if !read && dir != "." {
		above, err := r.lookup(ctx, top, dir, dirs)
		if err != nil {
			return treeEntry{}, err
		}
		tree, read = above.oid, above.mode != modeTree
	}
	if !read {
		var err error
		if entries, err = r.readTree(ctx, tree); err != nil {
			return treeEntry{}, err
		}
	}
	dirs[dir] = entries
	i := slices.IndexFunc(entries, func(e treeEntry) bool { return e.name == path.Base(p) })
	if i < 0 {
		return treeEntry{}, nil
	}
	return entries[i], nil
}
