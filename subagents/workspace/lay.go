package workspace

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/sandbox"
)

// Lay is the content of a work tree beside the files of its commit. Paths have slashes.
type Lay struct {
	// Layers are seen by commands alone: the work tree has an empty directory in the place of each, unless Copy is set.
	Layers []sandbox.Layer
	// Copy has the layers themselves copied into the work tree: for machines where commands can see no layers.
	Copy bool
	// Files are files and directories of the machine that are copied into the work tree, by the path of the copy. What the
	// commit has there goes first.
	Files map[string]string
	// Shown are files of the commit in whose place commands see others: their git takes them for unchanged.
	Shown []string
	// Tested has HEAD stand on commits as they would land, with a fixed author and date.
	Tested bool
}

// Lay reports what lies in the work tree from the next Reset on. Nothing of it is taken for a change, whatever becomes of it.
// Restore leaves it alone, and makes again what is gone.
func (s *Slot) Lay(l Lay) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lay = l
}

// laid reports whether a path is one of what lies in the work tree, or below one.
func (s *Slot) laid(name string) bool {
	for up := strings.TrimSuffix(name, "/"); up != "." && len(s.lies) > 0; up = path.Dir(up) {
		if s.lies[up] {
			return true
		}
	}
	return false
}

// leads reports whether a directory, with a slash at its end, has nothing but what lies in the work tree.
func (s *Slot) leads(dir string) bool {
	above := false
	for name := range s.lies {
		above = above || strings.HasPrefix(name, dir)
	}
	if !above || !strings.HasSuffix(dir, "/") {
		return false
	}
	entries, err := os.ReadDir(filepath.Join(s.dir, filepath.FromSlash(dir)))
	for _, e := range entries {
		if name := dir + e.Name(); !s.laid(name) && (!e.IsDir() || !s.leads(name+"/")) {
			return false
		}
	}
	return err == nil
}

// withoutLaid leaves out of the records of list what lies in the work tree. A tracked file stays: it is the commit's.
func (s *Slot) withoutLaid(records string) string {
	if len(s.lies) == 0 {
		return records
	}
	var kept strings.Builder
	for record := range strings.SplitAfterSeq(records, "\x00") {
		name, untracked := strings.CutPrefix(strings.TrimSuffix(record, "\x00"), "? ")
		if !untracked || !s.laid(name) && !s.leads(name) {
			kept.WriteString(record)
		}
	}
	return kept.String()
}

// unlay removes what lies in the work tree and what a command may have put in its place. Empty directories that are needed again
// stay, and small files that are as they were: the directory that they are in has not changed then.
func (s *Slot) unlay() error {
	if len(s.lies) == 0 {
		return nil
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // a handle
	needed := map[string]bool{}
	for _, l := range s.lay.Layers {
		needed[l.Path] = !s.lay.Copy
	}
	for name := range s.lies {
		if needed[name] && empty(root, name) || s.lay.Files[name] != "" && same(root, name, s.lay.Files[name]) {
			continue
		}
		err := root.RemoveAll(name)
		for up := path.Dir(name); err == nil && up != "." && empty(root, up); up = path.Dir(up) {
			err = root.Remove(up)
		}
		if err != nil {
			return fmt.Errorf("remove %s: %w", name, err)
		}
		delete(s.lies, name)
	}
	return nil
}

// maxSame bounds, in bytes, the files that are compared rather than copied again.
const maxSame = 1 << 20

// same reports whether a small file of the work tree, or all of a directory, is as one of the machine.
func same(root *os.Root, name, from string) bool {
	is, err := root.Lstat(name)
	want, failed := os.Lstat(from)
	if err != nil || failed != nil || is.Mode().Type() != want.Mode().Type() {
		return false
	}
	switch {
	case is.IsDir():
		return sameEntries(root, name, from)
	case !is.Mode().IsRegular():
		had, err := root.Readlink(name)
		wanted, failed := os.Readlink(from)
		return err == nil && failed == nil && had == wanted
	case is.Mode() != want.Mode() || is.Size() != want.Size() || is.Size() > maxSame || !is.ModTime().Equal(want.ModTime()):
		return false
	}
	had, err := root.ReadFile(name)
	wanted, failed := os.ReadFile(from)
	return err == nil && failed == nil && bytes.Equal(had, wanted)
}

func sameEntries(root *os.Root, name, from string) bool {
	had, err := fs.ReadDir(root.FS(), filepath.ToSlash(name))
	wanted, failed := os.ReadDir(from)
	return err == nil && failed == nil && slices.EqualFunc(had, wanted, func(a, b fs.DirEntry) bool {
		return a.Name() == b.Name() && same(root, filepath.Join(name, a.Name()), filepath.Join(from, b.Name()))
	})
}

// empty reports whether a path is a directory without entries.
func empty(root *os.Root, name string) bool {
	if info, err := root.Lstat(name); err != nil || !info.IsDir() {
		return false
	}
	entries, err := fs.ReadDir(root.FS(), name)
	return err == nil && len(entries) == 0
}

// putLay makes what lies in the work tree where it is not there. The error is a *ContentError where the commit has files in the
// place of a layer.
func (s *Slot) putLay() error {
	if len(s.lay.Layers)+len(s.lay.Files) == 0 {
		return nil
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // a handle
	for _, l := range s.lay.Layers {
		from := ""
		if s.lay.Copy {
			from = l.Lower
		}
		if err := s.putLayer(root, l.Path, from); err != nil {
			return err
		}
	}
	for name, from := range s.lay.Files {
		if _, err := root.Lstat(name); err == nil || !s.makeAbove(root, name) {
			continue
		}
		if err := copyTree(root, name, from); err != nil {
			return fmt.Errorf("copy %s into the work tree: %w", from, err)
		}
		s.note(name)
	}
	return nil
}

// putLayer makes one layer: an empty directory, or a copy of from.
func (s *Slot) putLayer(root *os.Root, name, from string) error {
	info, err := root.Lstat(name)
	switch {
	case err == nil && info.IsDir() && (s.lies[name] || empty(root, name)):
		s.note(name)
		return nil
	case err == nil && !s.lies[name]:
		return &ContentError{Why: fmt.Sprintf("%s belongs to the environment, which no patch changes, but the commit has files "+
			"there: take them out of it, or run setup again on a base that has them", name)}
	case err == nil:
		err = root.RemoveAll(name)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err != nil || !s.makeAbove(root, name) {
		return err
	}
	if from == "" {
		err = root.Mkdir(name, 0o755)
	} else {
		err = copyTree(root, name, from)
	}
	if err != nil {
		return fmt.Errorf("make the place of %s: %w", name, err)
	}
	s.note(name)
	return nil
}

// note remembers something that lies in the work tree. The directory that it is in has changed.
func (s *Slot) note(name string) {
	if !s.lies[name] {
		s.lies[name] = true
		s.known[path.Dir(name)] = stamp{}
	}
}

// makeAbove makes the directories above a path; false where the commit has something else there, which is left as it is.
func (s *Slot) makeAbove(root *os.Root, name string) bool {
	for i, c := range name {
		if c != '/' {
			continue
		}
		dir := name[:i]
		info, err := root.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) && root.Mkdir(dir, 0o755) == nil {
			s.known[path.Dir(dir)], s.known[dir] = stamp{}, stamp{}
			continue
		}
		if err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// copyTree copies a file of the machine, or a directory with all that is in it, into the work tree.
func copyTree(root *os.Root, name, from string) error {
	return filepath.WalkDir(from, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		return copyEntry(root, filepath.Join(name, rel), file, info)
	})
}

// copyEntry copies a directory without its entries, a link or a file, which shares its blocks with the copy where the file system
// can: never the file itself, which a command could write. Nothing else is copied.
func copyEntry(root *os.Root, to, from string, info fs.FileInfo) (err error) {
	switch {
	case info.IsDir():
		return root.Mkdir(to, info.Mode().Perm()|0o700)
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return root.Symlink(target, to)
	case !info.Mode().IsRegular():
		return nil
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close() // it is only read
	copied, err := root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(copied, source)
	return cmp.Or(err, copied.Close(), root.Chtimes(to, info.ModTime(), info.ModTime()))
}
