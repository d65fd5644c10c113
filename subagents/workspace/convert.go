package workspace

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"divisi/internal/git"
)

// conversion lists git's conversions in the files of a commit, by its attributes and the settings of the user.
func (s *Slot) conversion(ctx context.Context, commit string) (git.Conversion, error) {
	c, err := s.mirror.Conversion(ctx, commit)
	c.Lines, c.All = c.Lines || s.pool.refs.Ends.Conversion().Lines, c.Encodes()
	return c, err
}

// again builds the slot again for a commit with other attributes: a checkout writes files of the same content otherwise then.
func (s *Slot) anew(ctx context.Context, commit string) error {
	next, err := s.conversion(ctx, commit)
	if err == nil && s.converts != nil && s.converts.Key != next.Key {
		err = s.build()
	}
	s.converts = &next
	return cmp.Or(err, s.repo.Encode(next.All))
}

// applyAttributes has git convert encodings by the attributes that the attempt has changed. The error is a *ContentError where it
// converts to one of them nowhere.
func (s *Slot) applyAttributes(r *scanned) error {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // a handle
	for _, name := range slices.Concat(r.tracked, r.added) {
		if path.Base(name) != git.Attributes {
			continue
		}
		content, _, err := readRegular(root, filepath.FromSlash(name))
		asked := git.AsksFor(content)
		switch {
		case err != nil:
			return fmt.Errorf("read %s: %w", name, err)
		case asked.Foreign:
			return &ContentError{Why: name + " asks for an encoding that no tree is converted to"}
		case asked.All:
			err = s.repo.Encode(true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// asStored reports whether git would store a content as it is, whatever the attributes of its file.
func (s *Slot) asStored(content []byte) bool {
	return !s.converts.All && (!s.converts.Lines || !bytes.ContainsRune(content, '\r') && !bytes.Contains(content, []byte("$Id")))
}

// sift leaves out of the records of list what git takes for changed, and is as the checkout wrote it: what was stored before an
// attribute asked for another form. In a plain clone git finds or passes over it by the second in which the file was written.
// Where attributes have changed, any file may be converted from then on, and the slot is built again for the next commit.
func (s *Slot) sift(ctx context.Context, records string) (string, error) {
	all := strings.SplitAfter(records, "\x00")
	if slices.ContainsFunc(all, attributed) {
		s.converts, s.ruined = &git.Conversion{All: true, Key: s.converts.Key}, true
	}
	if !s.converts.Any() {
		return records, nil
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return "", fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // a handle
	var asked []laidFile
	same := map[string]bool{}
	for _, record := range all {
		name, changed := strings.CutPrefix(strings.TrimSuffix(record, "\x00"), "C ")
		if !changed {
			continue
		}
		content, info, err := readRegular(root, filepath.FromSlash(name))
		switch {
		case err != nil || info == nil:
		case s.written[name] == fileStampOf(info):
			same[record] = true
		case !s.asStored(content):
			asked = append(asked, laidFile{record, name})
		}
	}
	if err := s.verify(ctx, root, asked, same); err != nil {
		return "", fmt.Errorf("compare with the checkout: %w", err)
	}
	return strings.Join(slices.DeleteFunc(all, func(record string) bool { return same[record] }), ""), nil
}

// attributed reports whether a record of list is that of a list of attributes.
func attributed(record string) bool {
	_, name, _ := strings.Cut(strings.TrimSuffix(record, "\x00"), " ")
	return path.Base(name) == git.Attributes
}

// laidFile is a file of the work tree that may be as the checkout wrote it.
type laidFile struct{ record, path string }

// fileStamp changes when a file is written or gets another mode.
type fileStamp struct {
	stamp

	modified, size int64
}

func fileStampOf(info os.FileInfo) fileStamp {
	return fileStamp{stampOf(info), info.ModTime().UnixNano(), info.Size()}
}

// verify marks the records of those files that are as a checkout of what the index holds writes them, by one into an empty work
// tree: attributes are those of the index there.
func (s *Slot) verify(ctx context.Context, root *os.Root, asked []laidFile, same map[string]bool) (err error) {
	if len(asked) == 0 {
		return nil
	}
	at := s.at()
	if at.WorkTree, err = os.MkdirTemp(s.gitDir, "laid"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, Remove(at.WorkTree)) }()
	var in strings.Builder
	for _, f := range asked {
		in.WriteString(f.path + "\x00")
	}
	if _, err := s.git.Run(ctx, at, strings.NewReader(in.String()), "checkout-index", "-z", "--stdin"); err != nil {
		return err
	}
	made, err := os.OpenRoot(at.WorkTree)
	if err != nil {
		return err
	}
	defer made.Close() // a handle
	before := time.Now().Add(-tick).UnixNano()
	for _, f := range asked {
		as, want, err := sumRegular(made, f.path)
		is, info, failed := sumRegular(root, f.path)
		if err != nil || failed != nil || want == nil || info == nil || is != as || (want.Mode()^info.Mode())&0o100 != 0 {
			continue
		}
		same[f.record] = true
		if is := fileStampOf(info); is.changed < before && is.modified < before {
			s.written[f.path] = is
		}
	}
	return nil
}

// sumRegular is the digest of a file, which is never in memory as a whole; without an info there is none.
func sumRegular(root *os.Root, name string) (sum [sha256.Size]byte, info fs.FileInfo, err error) {
	f, info, err := openRegular(root, filepath.FromSlash(name))
	if err != nil || info == nil {
		return sum, nil, err
	}
	defer f.Close() // it is only read
	h := sha256.New()
	_, err = io.Copy(h, f)
	return [sha256.Size]byte(h.Sum(nil)), info, err
}

// rewrite lays files out anew that git takes for unchanged, but not by their stamps alone: it would store the same of them, and a
// checkout may write something else.
func (s *Slot) rewrite(ctx context.Context) error {
	if !s.converts.Any() {
		return nil
	}
	if err := s.dropStored(); err != nil {
		return err
	}
	out, err := s.git.Run(ctx, s.at(), nil, "diff-files", "-z", "--name-only")
	if err != nil {
		return err
	}
	names := strings.SplitAfter(string(out), "\x00")
	names = slices.DeleteFunc(names, func(name string) bool {
		name = strings.TrimSuffix(name, "\x00")
		info, err := os.Lstat(filepath.Join(s.dir, filepath.FromSlash(name)))
		return name == "" || err == nil && s.written[name] == fileStampOf(info)
	})
	if len(names) == 0 {
		return nil
	}
	in := strings.NewReader(strings.Join(names, ""))
	_, err = s.git.Run(ctx, s.at(), in, "checkout-index", "-z", "-f", "-u", "--stdin")
	return err
}

// dropStored removes the files that the index has taken in from the work tree: it takes them for what a checkout writes.
func (s *Slot) dropStored() error {
	if len(s.stored) == 0 {
		return nil
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // a handle
	for _, name := range s.stored {
		name = filepath.FromSlash(name)
		if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err := root.Remove(name); err != nil {
			return fmt.Errorf("remove %s: %w", name, err)
		}
	}
	s.stored = nil
	return nil
}
