package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"divisi/internal/git"
)

// move brings the index and the work tree, each from what it holds, to a commit by the files that differ. The work tree is still
// to be compared: the last attempt may have left more than was inspected. An error leaves both in any state.
func (s *Slot) move(ctx context.Context, indexed, held, to string) error {
	index, err := s.repo.Changed(ctx, indexed, to)
	files := index
	if err == nil && held != indexed {
		files, err = s.repo.Changed(ctx, held, to)
	}
	if err == nil {
		err = s.writeIndex(ctx, index)
	}
	if err == nil {
		err = s.writeFiles(ctx, index, files)
	}
	return err
}

func (s *Slot) writeIndex(ctx context.Context, changes []git.Change) error {
	if len(changes) == 0 {
		return nil
	}
	var lines strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&lines, "%s %s\t%s\x00", c.NewMode, c.NewOID, c.Path)
	}
	_, err := s.git.Run(ctx, s.at(), strings.NewReader(lines.String()), "update-index", "-z", "--replace", "--index-info")
	return err
}

// writeFiles removes and writes what has changed in the work tree. What has changed in the index alone is written too: the index
// does not know yet that the file is the same.
func (s *Slot) writeFiles(ctx context.Context, index, changes []git.Change) error {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // a handle
	for _, c := range changes {
		if c.NewMode != git.ModeNone {
			continue
		}
		if err := remove(root, c.Path); err != nil {
			return fmt.Errorf("remove %s: %w", c.Path, err)
		}
	}
	var files []string
	for _, c := range slices.Concat(changes, index) {
		switch c.NewMode {
		case git.ModeNone:
		case git.ModeFile, git.ModeExec, git.ModeSymlink:
			files = append(files, c.Path)
		default:
			return fmt.Errorf("%s has the mode %s", c.Path, c.NewMode)
		}
	}
	if len(files) == 0 {
		return nil
	}
	slices.Sort(files)
	in := strings.Join(slices.Compact(files), "\x00") + "\x00"
	_, err = s.git.Run(ctx, s.at(), strings.NewReader(in), "checkout-index", "-z", "-f", "-u", "--stdin")
	return err
}

// remove deletes a file and the directories that are empty then.
func remove(root *os.Root, name string) error {
	err := root.Remove(name)
	for dir := path.Dir(name); err == nil && dir != "."; dir = path.Dir(dir) {
		if entries, listed := fs.ReadDir(root.FS(), dir); listed != nil || len(entries) > 0 {
			return nil
		}
		err = root.Remove(dir)
	}
	return err
}
