package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Ignored puts a work tree that Reset made back to its commit, but for what its own lists of ignored files name: the topmost
// paths of that are returned, and those of the files that went. A directory that ignores itself whole, as virtual environments
// do, counts. No process may be working in the slot.
func (s *Slot) Ignored(ctx context.Context, commit string) (ignored, gone []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.repo == nil {
		return nil, nil, ErrNotReset
	}
	s.ruined = true // the next reset restarts, whatever is here
	if err := os.WriteFile(filepath.Join(s.gitDir, "HEAD"), []byte(commit+"\n"), 0o644); err != nil {
		return nil, nil, fmt.Errorf("name the commit that setup began on: %w", err)
	}
	changed, untracked, _, err := s.status(ctx)
	if err == nil && len(changed) > 0 {
		var records string
		records, err = s.sift(ctx, "C "+strings.Join(changed, "\x00C ")+"\x00")
		changed = pathsOf(records)
	}
	if err == nil {
		_, err = s.git.Run(ctx, s.at(), nil, "read-tree", "-u", "--reset", commit)
	}
	root, opened := os.OpenRoot(s.dir)
	if err = errors.Join(err, opened); err != nil {
		return nil, nil, fmt.Errorf("restore the changes of setup: %w", err)
	}
	defer root.Close() // a handle
	var venvs []string
	for _, name := range untracked {
		switch dir := path.Dir(name); path.Base(name) {
		case ".gitignore":
			err = errors.Join(err, root.Remove(filepath.FromSlash(name)))
		case "pyvenv.cfg": // before Python 3.13 a virtual environment does not ignore itself
			if venvs = append(venvs, dir+"/"); dir != "." {
				err = errors.Join(err, root.WriteFile(filepath.FromSlash(dir+"/.gitignore"), []byte("*\n"), 0o644))
			}
		}
	}
	untracked = slices.DeleteFunc(untracked, func(name string) bool {
		return slices.ContainsFunc(venvs, func(dir string) bool { return strings.HasPrefix(name, dir) })
	})
	if err == nil {
		_, _, ignored, err = s.status(ctx)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list the files of setup: %w", err)
	}
	for _, name := range ignored {
		if dir := path.Dir(name); path.Base(name) == ".gitignore" && dir != "." && ignoresAll(root, name) {
			ignored = append(ignored, dir)
		}
	}
	return topmost(ignored), slices.Sorted(slices.Values(append(changed, untracked...))), nil
}

// ignoresAll reports whether a list of ignored files names everything beside it.
func ignoresAll(root *os.Root, name string) bool {
	if info, err := root.Lstat(filepath.FromSlash(name)); err != nil || !info.Mode().IsRegular() || info.Size() > maxList {
		return false
	}
	data, err := root.ReadFile(filepath.FromSlash(name))
	return err == nil && slices.Contains(strings.Fields(string(data)), "*") && !strings.Contains(string(data), "!")
}

// maxList bounds, in bytes, a list of ignored files that names everything.
const maxList = 4 << 10

// status lists what git sees in the work tree beside the commit's files: changed files, new ones, and what is ignored.
func (s *Slot) status(ctx context.Context) (changed, untracked, ignored []string, err error) {
	out, err := s.git.Run(ctx, s.at(), nil, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignored=matching",
		"--ignore-submodules=all", "--no-renames")
	for record := range strings.SplitSeq(string(out), "\x00") {
		if len(record) < 4 {
			continue
		}
		list := &changed
		switch record[:2] {
		case "!!":
			list = &ignored
		case "??":
			list = &untracked
		}
		*list = append(*list, strings.TrimSuffix(record[3:], "/"))
	}
	return changed, untracked, ignored, err
}

// topmost leaves out paths that lie below others.
func topmost(paths []string) []string {
	slices.Sort(paths)
	paths = slices.Compact(paths)
	return slices.DeleteFunc(slices.Clone(paths), func(name string) bool {
		for up := path.Dir(name); up != "."; up = path.Dir(up) {
			if _, found := slices.BinarySearch(paths, up); found {
				return true
			}
		}
		return false
	})
}
