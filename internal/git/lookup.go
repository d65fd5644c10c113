package git

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strconv"
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
		entries = append(entries, treeEntry{name, canonical(mode), hex.EncodeToString(rest[:width])})
		data = rest[width:]
	}
	return entries, nil
}

// canonical is a mode as git takes it in: old repositories have others.
func canonical(mode string) string {
	bits, err := strconv.ParseUint(mode, 8, 32)
	switch {
	case err != nil:
		return mode
	case bits&0o170000 == 0o040000:
		return modeTree
	case bits&0o170000 == 0o120000:
		return ModeSymlink
	case bits&0o170000 != 0o100000:
		return ModeGitlink
	case bits&0o100 != 0:
		return ModeExec
	}
	return ModeFile
}

// Lookup finds files of a commit or tree by their paths, in their order. What is not there has no mode. Sizes are left out.
func (r *Repo) Lookup(ctx context.Context, id string, paths []string) ([]Entry, error) {
	if err := checkIDs(id); err != nil {
		return nil, err
	}
	d, out := r.Draft(), make([]Entry, len(paths))
	for i, p := range paths {
		e, err := d.find(ctx, id, p)
		if err != nil {
			return nil, fmt.Errorf("look for %s in %s: %w", p, id, err)
		}
		if out[i].Path = p; e.mode != modeTree {
			out[i].Mode, out[i].OID = e.mode, e.oid
		}
	}
	return out, nil
}

// find finds one entry of a commit or tree; without an id it is not there.
func (d *Draft) find(ctx context.Context, id, p string) (treeEntry, error) {
	if dir := path.Dir(p); dir != "." {
		above, err := d.find(ctx, id, dir)
		if err != nil || above.mode != modeTree {
			return treeEntry{}, err
		}
		id = above.oid
	}
	entries, err := d.tree(ctx, id)
	if err != nil {
		return treeEntry{}, err
	}
	i := slices.IndexFunc(entries, func(e treeEntry) bool { return e.name == path.Base(p) })
	if i < 0 {
		return treeEntry{}, nil
	}
	return entries[i], nil
}
