package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"divisi/internal/git"
	"divisi/internal/textfile"
)

// DiffPath returns what differs from base in one path of the work tree, or in all of it for ".", as Diff does.
func (s *Slot) DiffPath(ctx context.Context, base, path string, limit int) (text string, cut bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tree, err := s.tree(ctx)
	if err != nil {
		return "", false, fmt.Errorf("diff %s: %w", s.name, err)
	}
	return s.repo.DiffPath(ctx, base, tree, path, limit)
}

// Files lists the files of the work tree that are tracked or not ignored, with slashes and in no order; some may be gone.
// Error: ErrNotReset.
func (s *Slot) Files(ctx context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.repo == nil {
		return nil, fmt.Errorf("list the files of %s: %w", s.name, ErrNotReset)
	}
	out, err := s.look(ctx, "", "ls-files", "-z", "-c", "-o", "--exclude-standard")
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", s.name, err)
	}
	return slices.DeleteFunc(strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), s.laid), nil
}

// maxPlaces bounds the places of one file that Match returns.
const maxPlaces = 5

// Match returns where the expression matches in the given files as the work tree holds them now, as path:line. What is no regular
// file matches nothing. Error: ErrNotReset.
func (s *Slot) Match(p *textfile.Pattern, files []string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.repo == nil {
		return nil, fmt.Errorf("match the files of %s: %w", s.name, ErrNotReset)
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, fmt.Errorf("match the files of %s: %w", s.name, err)
	}
	defer root.Close() // a handle
	var places []string
	for _, path := range files {
		content, _, err := readRegular(root, filepath.FromSlash(path))
		if err != nil {
			return nil, fmt.Errorf("match %s in %s: %w", path, s.name, err)
		}
		lines, _ := p.Lines(content, maxPlaces)
		for _, line := range lines {
			places = append(places, fmt.Sprintf("%s:%d", path, line))
		}
	}
	return places, nil
}

// readRegular reads at most git.MaxPatchBytes of a file, and not of one that a link leads to; without an info there is none.
func readRegular(root *os.Root, name string) (content []byte, info fs.FileInfo, err error) {
	f, info, err := openRegular(root, name)
	if err != nil || info == nil {
		return nil, nil, err
	}
	defer f.Close() // it is only read
	content, err = io.ReadAll(io.LimitReader(f, git.MaxPatchBytes))
	return content, info, err
}

// openRegular opens a file to read it; without an info there is none.
func openRegular(root *os.Root, name string) (f *os.File, info fs.FileInfo, err error) {
	there, err := root.Lstat(name)
	if err != nil || !there.Mode().IsRegular() {
		return nil, nil, nil
	}
	if f, err = root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil { // it may be a pipe by now
		return nil, nil, err
	}
	if info, err = f.Stat(); err != nil || !os.SameFile(there, info) {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}
