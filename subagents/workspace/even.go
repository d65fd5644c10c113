package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
)

// Even gives all files of the commit the time of the last reset, as after a clone: no file is newer than what was made of it. A
// reset writes only what differs from the commit before: a program that compares times makes again what depends on that.
func (s *Slot) Even(ctx context.Context, commit string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.repo == nil {
		return ErrNotReset
	}
	fail := func(err error) error { return fmt.Errorf("give the files of %s one time: %w", s.name, err) }
	out, err := s.git.Run(ctx, s.at(), nil, "ls-files", "-z")
	if err != nil {
		return fail(err)
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return fail(err)
	}
	defer root.Close() // a handle
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		info, err := evenOne(root, name, s.resetAt)
		if err != nil {
			return fail(err)
		}
		if _, converted := s.written[name]; converted && info != nil {
			s.written[name] = fileStampOf(info)
		}
	}
	if _, err := s.git.Run(ctx, s.at(), nil, "update-index", "-q", "--refresh"); err != nil {
		s.indexed, s.held = "", "" // the next reset compares all
	}
	return s.stand(ctx, commit)
}

// evenOne leaves out links, and what lies in the place of a file: a submodule. Info is that of a file that it changed.
func evenOne(root *os.Root, name string, at time.Time) (info fs.FileInfo, err error) {
	info, err = root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && !info.Mode().IsRegular() {
		return nil, nil
	}
	if err == nil {
		err = root.Chtimes(name, at, at)
	}
	if err != nil {
		return nil, err
	}
	return root.Lstat(name)
}
