package environment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"divisi/contextscope/artifact"
	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
)

// ChangedError reports a file of the checkout that was written while it was copied, twice.
type ChangedError struct{ Path string }

// Error names the file.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s of the checkout changed while it was copied, twice: stop its writer, and start again", e.Path)
}

// found is one entry of the checkout as a look has found it.
type found struct {
	path string
	info fs.FileInfo
	// target is where a link leads.
	target string
}

// stamp identifies the state of an entry. The time of its inode is part of it: package managers give all versions of a file the
// same time.
func (f *found) stamp() string {
	return fmt.Sprintf("%o %d %d %d %q %q\n", uint32(f.info.Mode()), sizeOf(f.info), f.info.ModTime().UnixNano(),
		changeTime(f.info), f.target, f.path)
}

// sizeOf is 0 for what is no file: the size of a directory tells nothing.
func sizeOf(info fs.FileInfo) int64 {
	if info.Mode().IsRegular() {
		return info.Size()
	}
	return 0
}

// snapshot is a inspect paths of the user's checkout: what is there, and what of it is never taken.
type snapshot struct {
	root *os.Root
	// top is the checkout as links name it.
	top     string
	entries []found
	bytes   int64
	// secret are left out because of their names or contents, pipes because they are no files.
	secret, pipes []string
	// head is the beginning of the file that is searched for a private key.
	head []byte
}

// lookAt lists what is at paths of a checkout, which are slash-separated. It follows no link, and leaves nothing of the
// checkout.
func lookAt(ctx context.Context, root *os.Root, paths []string) (*snapshot, error) {
	s := &snapshot{root: root, top: root.Name()}
	for _, name := range paths {
		if err := s.path(ctx, name); err != nil {
			return nil, fmt.Errorf("inspect %s of the checkout: %w", name, err)
		}
	}
	return s, nil
}

// path adds one of the paths, above which there is no link.
func (s *snapshot) path(ctx context.Context, name string) error {
	if !fs.ValidPath(name) || name == "." || spec.SecretPath(name) {
		return &BadContentError{fmt.Sprintf("the path %q is never taken", name)}
	}
	for i, c := range name {
		if c != '/' {
			continue
		}
		info, err := s.root.Lstat(filepath.FromSlash(name[:i]))
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return &BadContentError{fmt.Sprintf("%s is no directory", name[:i])}
		}
	}
	dir, err := s.root.OpenRoot(filepath.FromSlash(path.Dir(name)))
	if err != nil {
		return err
	}
	defer dir.Close() // a handle
	return s.add(ctx, dir, path.Dir(name), path.Base(name))
}

// add adds an entry of a directory with all below it.
func (s *snapshot) add(ctx context.Context, dir *os.Root, at, base string) error {
	info, err := dir.Lstat(base)
	if err != nil {
		return err
	}
	f := found{path: path.Join(at, base), info: info}
	if spec.SecretPath(path.Join(path.Base(at), base)) {
		s.secret = append(s.secret, f.path)
		return nil
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		if f.target, err = dir.Readlink(base); err != nil {
			return err
		}
	case mode&(fs.ModeNamedPipe|fs.ModeSocket) != 0:
		s.pipes = append(s.pipes, f.path)
		return nil
	case !mode.IsRegular() && !mode.IsDir():
		return &BadContentError{f.path + " is a device"}
	}
	s.entries, s.bytes = append(s.entries, f), s.bytes+sizeOf(info)
	switch {
	case len(s.entries) > maxEntries:
		return &BadContentError{fmt.Sprintf("there are more than %d files", maxEntries)}
	case s.bytes > maxBytes:
		return &BadContentError{fmt.Sprintf("it has more than %d GiB", maxBytes>>30)}
	case info.IsDir():
		return s.below(ctx, dir, f.path, base)
	}
	return nil
}

func (s *snapshot) below(ctx context.Context, dir *os.Root, at, base string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	inner, err := dir.OpenRoot(base)
	if err != nil {
		return gone(err, at)
	}
	defer inner.Close() // a handle
	entries, err := fs.ReadDir(inner.FS(), ".")
	for _, e := range entries {
		if err == nil {
			err = gone(s.add(ctx, inner, at, e.Name()), path.Join(at, e.Name()))
		}
	}
	return err
}

// gone makes a *ChangedError of the error of a path that was there a moment ago.
func gone(err error, name string) error {
	if changed := new(ChangedError); errors.Is(err, fs.ErrNotExist) && !errors.As(err, &changed) {
		return &ChangedError{name}
	}
	return err
}

// digest stands for the list of what was found.
func (s *snapshot) digest() string {
	var list bytes.Buffer
	for i := range s.entries {
		list.WriteString(s.entries[i].stamp())
	}
	for _, name := range s.secret {
		fmt.Fprintf(&list, "secret %q\n", name)
	}
	return artifact.Digest(list.Bytes())
}

// changed returns the first path that differs in another inspect the same paths; empty for none.
func (s *snapshot) changed(later *snapshot) string {
	for i := range s.entries {
		if i >= len(later.entries) || s.entries[i].stamp() != later.entries[i].stamp() {
			return s.entries[i].path
		}
	}
	if n := len(s.entries); n < len(later.entries) {
		return later.entries[n].path
	}
	return ""
}

// copyTo copies what was found into an existing directory, with files that share no inode with the checkout's. A file that is
// no longer what was found is a *ChangedError.
func (s *snapshot) copyTo(ctx context.Context, to string) error {
	out, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer out.Close() // a handle
	var dirs []found
	for i := range s.entries {
		if f := &s.entries[i]; ctx.Err() != nil {
			return context.Cause(ctx)
		} else if err := s.copyOne(out, f); err != nil {
			return fmt.Errorf("copy %s of the checkout: %w", f.path, err)
		} else if f.info.IsDir() {
			dirs = append(dirs, *f)
		}
	}
	for _, d := range slices.Backward(dirs) { // once they are filled
		if err := out.Chmod(filepath.FromSlash(d.path), d.info.Mode().Perm()|0o700); err != nil {
			return fmt.Errorf("copy %s of the checkout: %w", d.path, err)
		}
	}
	return nil
}

func (s *snapshot) copyOne(out *os.Root, f *found) error {
	name := filepath.FromSlash(f.path)
	if err := out.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	switch {
	case f.info.IsDir():
		return out.Mkdir(name, 0o700)
	case f.info.Mode()&fs.ModeSymlink != 0:
		return out.Symlink(s.relative(f), name)
	}
	// Nothing that was put in its place meanwhile can hold this up.
	from, err := s.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return gone(err, f.path)
	}
	defer from.Close() // nothing is written
	if is, err := from.Stat(); err != nil || !os.SameFile(is, f.info) || !is.Mode().IsRegular() {
		return errors.Join(err, &ChangedError{f.path})
	}
	if key, err := s.privateKey(from); err != nil || key {
		s.secret = append(s.secret, f.path)
		return err
	}
	to, err := out.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from) // the kernel shares the blocks where the file system can
	return errors.Join(err, to.Chmod(f.info.Mode().Perm()|0o400), to.Close(),
		out.Chtimes(name, f.info.ModTime(), f.info.ModTime()))
}

// relative is where a link leads in every tree: one into the checkout by its whole path leads to the same place of the tree.
func (s *snapshot) relative(f *found) string {
	if !within(f.target, s.top) {
		return f.target
	}
	rel, err := filepath.Rel(filepath.Join(s.top, filepath.FromSlash(path.Dir(f.path))), f.target)
	if err != nil {
		return f.target
	}
	return rel
}

// maxKeySearch bounds the search for a private key in a file, in bytes.
const maxKeySearch = 1 << 20

var privateKeyLine = lazyregexp.New(`(?m)^\s*` + spec.PrivateKey + `\s*$`)

// privateKey reports whether a file has a line that begins a private key, whatever its name is. It leaves the file at its
// beginning. A program that only names such a line inside another one is kept.
func (s *snapshot) privateKey(file *os.File) (bool, error) {
	if s.head == nil {
		s.head = make([]byte, maxKeySearch)
	}
	n, err := file.ReadAt(s.head, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	head := s.head[:n]
	return bytes.Contains(head, []byte("-----BEGIN ")) && privateKeyLine.Match(head), err
}

// notes are hints about the parts that were left out.
func (s *snapshot) notes() (notes []string) {
	for _, left := range []struct {
		what  string
		paths []string
	}{
		{"files of the checkout were left out, because they can hold keys or credentials", s.secret},
		{"pipes and sockets of the checkout were left out", s.pipes},
	} {
		if n := len(left.paths); n > 0 {
			notes = append(notes, fmt.Sprintf("%d %s: %s", n, left.what, strings.Join(text.Few(left.paths, maxNamed), ", ")))
		}
	}
	return notes
}

// checkoutFiles is the path in Recipe.Files that stands for what was taken from a checkout: no file of a tree has it.
const checkoutFiles = "checkout:"

// FromCheckout returns the environment that has what is at paths of the user's checkout, as Make does. The recipe gets a digest
// of what is there. What changes meanwhile is copied once more, and is then a *ChangedError.
func (s *Store) FromCheckout(
	ctx context.Context, r Recipe, root *os.Root, paths []string, waiting func(),
) (e *Environment, made bool, err error) {
	for range 2 {
		var look *snapshot
		if look, err = lookAt(ctx, root, paths); err == nil {
			r.Files = map[string]string{checkoutFiles: look.digest()}
			e, made, err = s.Make(ctx, r, waiting, func(ctx context.Context, m *Making) error {
				return m.takeCheckout(ctx, look, paths)
			})
		}
		if changed := new(ChangedError); !errors.As(err, &changed) {
			break
		}
	}
	return e, made, err
}

// takeCheckout fills the environment with what a look has found, if it is still so when all is copied.
func (m *Making) takeCheckout(ctx context.Context, look *snapshot, paths []string) error {
	taken := filepath.Join(m.Dir, "taken")
	m.tops = append(m.tops, look.top)
	if err := os.Mkdir(taken, 0o700); err != nil {
		return fmt.Errorf("copy from the checkout: %w", err)
	}
	if err := look.copyTo(ctx, taken); err != nil {
		return err
	}
	later, err := lookAt(ctx, look.root, paths)
	if err != nil {
		return gone(err, strings.Join(text.Few(paths, maxNamed), ", "))
	}
	if name := look.changed(later); name != "" {
		return &ChangedError{name}
	}
	for _, note := range look.notes() {
		m.Note(note)
	}
	there := slices.DeleteFunc(slices.Clone(paths), func(name string) bool {
		_, err := os.Lstat(filepath.Join(taken, filepath.FromSlash(name)))
		return err != nil // a secret or a pipe
	})
	return errors.Join(m.Take(taken, there), os.RemoveAll(taken))
}
