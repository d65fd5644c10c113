package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/git"
)

// The most ignored new files that are compared with removed ones, and their bytes together.
const (
	maxCompared      = 1000
	maxComparedBytes = 64 << 20
)

// maxRoots is how many paths of the greatest length a command line holds.
const maxRoots = 400

// takeRenamed adds the ignored new files to a scan that are tracked ones under another name: a rename in a directory that is
// tracked and ignored would else be a removal.
func (s *Slot) takeRenamed(ctx context.Context, r *scanned) error {
	if len(r.removed) == 0 || s.indexed == "" {
		return nil
	}
	removed, roots, err := s.ignored(ctx, r.removed)
	if err != nil || len(removed) == 0 {
		return err
	}
	for _, name := range removed {
		s.gone[name] = true
	}
	found, err := s.newBelow(ctx, roots)
	if err != nil || len(found) == 0 {
		return err
	}
	names, err := s.similar(ctx, r, removed, found)
	if err != nil {
		return fmt.Errorf("look for renamed files: %w", err)
	}
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(s.dir, filepath.FromSlash(name)))
		if err != nil {
			continue // it is gone
		}
		r.added = append(r.added, name)
		r.weigh(name, info)
	}
	return nil
}

// ignored are those of some paths that a list of ignored files names, and where new names of theirs may be: in the topmost
// ignored directories, which end in a slash, or beside what is ignored alone.
func (s *Slot) ignored(ctx context.Context, paths []string) (ignored, roots []string, err error) {
	var asked []string
	for _, name := range paths {
		asked = append(asked, "./"+name) // which begins no magic
		for up := path.Dir(name); up != "."; up = path.Dir(up) {
			asked = append(asked, "./"+up+"/")
		}
	}
	slices.Sort(asked)
	in := strings.Join(slices.Compact(asked), "\x00") + "\x00"
	// It takes no literal paths.
	out, err := s.look(ctx, in, "--no-literal-pathspecs", "check-ignore", "-z", "--no-index", "--stdin")
	if exit, is := errors.AsType[*git.ExitError](err); is && exit.Code == 1 { // none is
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("look for ignored files: %w", err)
	}
	is := map[string]bool{}
	for name := range strings.SplitSeq(string(out), "\x00") {
		is[strings.TrimPrefix(name, "./")] = true
	}
	for _, name := range paths {
		if !is[name] {
			continue
		}
		root := path.Dir(name)
		for up := root; up != "."; up = path.Dir(up) {
			if is[up+"/"] {
				root = up + "/"
			}
		}
		ignored, roots = append(ignored, name), append(roots, root)
	}
	slices.Sort(roots)
	return ignored, slices.Compact(roots), nil
}

// newBelow lists the ignored new files in some directories. In those that are ignored themselves, and end in a slash, it looks
// into all directories, in others into none that is ignored.
func (s *Slot) newBelow(ctx context.Context, roots []string) (found []string, err error) {
	whole := func(root string) bool { return strings.HasSuffix(root, "/") }
	list := func(roots []string, flags ...string) error {
		args := append([]string{"ls-files", "-z", "-o", "-i", "--exclude-standard"}, flags...)
		for some := range slices.Chunk(roots, maxRoots) {
			out, err := s.look(ctx, "", slices.Concat(args, []string{"--"}, some)...)
			if err != nil {
				return fmt.Errorf("list ignored files: %w", err)
			}
			for name := range strings.SplitSeq(string(out), "\x00") {
				if name != "" && !whole(name) && !s.laid(name) {
					found = append(found, name)
				}
			}
		}
		return nil
	}
	within := slices.DeleteFunc(slices.Clone(roots), func(root string) bool { return !whole(root) })
	beside := slices.DeleteFunc(slices.Clone(roots), whole)
	err = cmp.Or(list(within), list(beside, "--directory"))
	slices.Sort(found)
	return slices.Compact(found), err
}

// similar returns those of the found files that git takes for the removed ones under another name. What the scan adds takes part:
// a file can have moved there.
func (s *Slot) similar(ctx context.Context, r *scanned, removed, found []string) (names []string, err error) {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() // a handle
	d := s.repo.Draft()
	var changes []git.Change
	for _, name := range removed {
		changes = append(changes, git.Change{Path: name, NewMode: git.ModeNone})
	}
	left := int64(maxComparedBytes)
	for i, name := range slices.Concat(found, r.added) {
		mode, content, err := readEntry(root, name)
		if left -= int64(len(content)); err != nil || mode == git.ModeNone || left < 0 || i >= maxCompared {
			continue // too large to be compared, or gone
		}
		if !s.asStored(content) {
			content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
		}
		changes = append(changes, git.Change{Path: name, NewMode: mode, NewOID: d.Blob(content)})
	}
	tree, err := d.Edit(ctx, s.indexed, changes)
	if err == nil {
		err = d.Flush(ctx)
	}
	if err != nil {
		return nil, err
	}
	renames, err := s.repo.Renames(ctx, s.indexed, tree)
	for _, from := range removed {
		if to := renames[from]; slices.Contains(found, to) {
			names = append(names, to)
		}
	}
	return names, err
}

// lost are the files that a patch removes, that a list of ignored files names, and that have no other name in the patch.
func (s *Slot) lost(ctx context.Context, base, tree string, changes []git.Change) (lost []string, err error) {
	gone := func(c git.Change) bool { return c.NewMode == git.ModeNone && s.gone[c.Path] }
	if !slices.ContainsFunc(changes, gone) {
		return nil, nil
	}
	renames, err := s.repo.Renames(ctx, base, tree)
	for _, c := range changes {
		if gone(c) && renames[c.Path] == "" {
			lost = append(lost, c.Path)
		}
	}
	return lost, err
}
