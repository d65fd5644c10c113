package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"divisi/internal/git"
)

// move brings index and work tree from one commit or tree to another by the files that differ between the two. The work tree is
// still to be compared: the last attempt may have left more than the index knows. An error leaves both in any state.
func (s *Slot) move(ctx context.Context, from, to string) error {
	changes, err := s.repo.Changed(ctx, from, to)
	if err == nil && len(changes) > 0 {
		err = s.write(ctx, changes)
	}
	return err
}

// write puts changes into the index and the work tree.
func (s *Slot) write(ctx context.Context, changes []git.Change) error {
	var index, files strings.Builder
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // a handle
	for _, c := range changes {
		switch c.NewMode {
		case git.ModeNone:
			if err := remove(root, c.Path); err != nil {
				return fmt.Errorf("remove %s: %w", c.Path, err)
			}
		case git.ModeFile, git.ModeExec, git.ModeSymlink:
			files.WriteString(c.Path + "\x00")
		default:
			return fmt.Errorf("%s has the mode %s", c.Path, c.NewMode)
		}
		fmt.Fprintf(&index, "%s %s\t%s\x00", c.NewMode, c.NewOID, c.Path)
	}
	_, err = s.git.Run(ctx, s.at(), strings.NewReader(index.String()), "update-index", "-z", "--replace", "--index-info")
	if err == nil && files.Len() > 0 {
		_, err = s.git.Run(ctx, s.at(), strings.NewReader(files.String()), "checkout-index", "-z", "-f", "-u", "--stdin")
	}
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
