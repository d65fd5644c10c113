package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"divisi/internal/git"
	"divisi/internal/machine"
)

// tree makes the tree of what the work tree holds, in the slot's repository.
func (s *Slot) tree(ctx context.Context) (string, error) {
	tree, d, err := s.draft(ctx)
	if err == nil {
		err = d.Flush(ctx)
	}
	return tree, err
}

// draft makes the tree, and returns what of it is not written yet. What its owner may not read is made readable: an agent's
// chmod is no reason to lose its work.
func (s *Slot) draft(ctx context.Context) (string, *git.Draft, error) {
	if s.repo == nil {
		return "", nil, ErrNotReset
	}
	if info, err := os.Lstat(s.dir); err != nil || !info.IsDir() {
		return "", nil, fmt.Errorf("the work tree %s is gone", s.dir)
	}
	id, d, err := s.scan(ctx)
	var content *ContentError
	if err == nil || ctx.Err() != nil || errors.As(err, &content) {
		return id, d, err
	}
	if unlocked := errors.Join(unlock(s.dir), s.dropLock()); unlocked != nil {
		return "", nil, errors.Join(err, unlocked)
	}
	id, d, err = s.scan(ctx)
	return id, d, contentError(err, func() error { return machine.Room(s.gitDir, s.dir) })
}

// scan does it once.
func (s *Slot) scan(ctx context.Context) (tree string, d *git.Draft, err error) {
	look := func(args ...string) ([]byte, error) { return s.look(ctx, "", args...) }
	if err := s.readAgain(ctx); err != nil {
		return "", nil, err
	}
	dirs := s.touched()
	if err := s.dropPipes(ctx, dirs); err != nil {
		return "", nil, err
	}
	back, err := s.obeyExclude()
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, back()) }()
	found, err := s.list(ctx, look, dirs, "--exclude-standard")
	if err != nil {
		return "", nil, err
	}
	scan := s.sort(found)
	if err := cmp.Or(s.applyIndex(ctx, &scan), s.takeRenamed(ctx, &scan), s.applyAttributes(&scan)); err != nil {
		return "", nil, err
	}
	if why := scan.refused(); why != "" {
		return "", nil, &ContentError{Why: why}
	}
	if err := s.checkSubmodules(ctx); err != nil {
		return "", nil, err
	}
	d = s.repo.Draft()
	tree, edited, err := s.edit(ctx, d, scan)
	if err == nil && !edited {
		tree, err = s.index(ctx, scan)
	}
	if err != nil {
		return "", nil, err
	}
	s.held = tree
	return tree, d, nil
}

// The most files that are read without git, and their bytes together. From there on git takes them in as one pack.
const (
	manyFiles = 50
	manyBytes = 256 << 10
)

// few reports whether that is so, and git surely takes the files in by their names.
func (r *scanned) few() bool {
	paths := slices.Concat(r.tracked, r.added)
	return len(paths) < manyFiles && r.bytes <= manyBytes && !slices.ContainsFunc(paths, unsafeName)
}

// edit makes the tree of a few files as git would, which stores them byte for byte here, and leaves the index as it is. It
// reports false for everything else, and where a file cannot be read: git reports why.
func (s *Slot) edit(ctx context.Context, d *git.Draft, scan scanned) (tree string, ok bool, err error) {
	base, err := s.pool.unusual(ctx)
	if err != nil || base.emptyDirs || len(base.links) > 0 || s.indexed == "" || s.converts.All || !scan.few() ||
		len(scan.staged) > 0 && s.converts.Any() {
		return "", false, err
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return "", false, fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // a handle
	var changes []git.Change
	for _, path := range scan.beyond {
		changes = append(changes, git.Change{Path: path, NewMode: git.ModeNone})
	}
	for _, path := range slices.Concat(scan.tracked, scan.added) {
		c, err := s.take(root, d, path)
		if err != nil {
			return "", false, nil //nolint:nilerr // git meets it too
		}
		changes = append(changes, c)
	}
	tree, err = d.Edit(ctx, s.indexed, changes)
	return tree, err == nil, err
}

// errConverted reports a file that git may convert.
var errConverted = errors.New("the file may be stored otherwise than it is")

// take puts a file as it is now into the draft. Errors: errConverted.
func (s *Slot) take(root *os.Root, d *git.Draft, path string) (git.Change, error) {
	mode, content, err := readEntry(root, path)
	c := git.Change{Path: path, NewMode: mode}
	if err == nil && mode != git.ModeSymlink && !s.asStored(content) {
		err = errConverted
	}
	if err == nil && mode != git.ModeNone {
		c.NewOID = d.Blob(content)
	}
	return c, err
}

// readEntry reads a file or a link as git would store it. What is not there, or has become a directory, has ModeNone.
func readEntry(root *os.Root, path string) (mode string, content []byte, err error) {
	name := filepath.FromSlash(path)
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && info.IsDir():
		return git.ModeNone, nil, nil
	case err != nil:
		return "", nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		return git.ModeSymlink, []byte(target), err
	}
	content, info, err = readRegular(root, name)
	switch {
	case len(content) > manyBytes:
		return "", nil, fmt.Errorf("%s grows", path)
	case err != nil:
		return "", nil, err
	case info == nil:
		return "", nil, fmt.Errorf("%s is no file any more", path)
	case info.Mode()&0o100 != 0:
		return git.ModeExec, content, nil
	}
	return git.ModeFile, content, nil
}

// index takes all changes into the index and writes its tree. Not by git add: in a tree with submodules that runs another git in
// each of them, with the settings that it finds there.
func (s *Slot) index(ctx context.Context, scan scanned) (string, error) {
	s.indexed = ""
	if err := s.updateIndex(ctx, scan.beyond, "--force-remove"); err != nil {
		return "", err
	}
	var unknown []staged
	taken := append(scan.tracked, scan.added...)
	if s.converts.Any() {
		var err error
		if unknown, err = s.begin(ctx, scan.staged); err != nil {
			return "", err
		}
		for _, e := range scan.staged {
			taken = append(taken, e.path)
		}
		s.stored = append(s.stored, taken...)
	}
	if err := s.updateIndex(ctx, taken, "--add", "--remove", "--replace"); err != nil {
		return "", err
	}
	if err := s.checkLeftOut(ctx, scan.added); err != nil {
		return "", err
	}
	out, err := s.git.Run(ctx, s.at(), nil, "write-tree")
	if err != nil {
		return "", err
	}
	tree, err := s.settle(ctx, strings.TrimSpace(string(out)), unknown)
	if err == nil {
		s.indexed = tree
	}
	return tree, err
}

// unsafeName reports whether git might not take a file in by its name. It passes over some, such as git~1, without a failure.
func unsafeName(path string) bool {
	char := func(r rune) bool { return r >= 0x7f || r < ' ' || strings.ContainsRune(`~\:`, r) }
	return strings.Contains("/"+strings.ToLower(path), "/.git") || strings.ContainsFunc(path, char)
}

// checkLeftOut returns a *ContentError where git left new files out of the index because of their names.
func (s *Slot) checkLeftOut(ctx context.Context, added []string) error {
	if !slices.ContainsFunc(added, unsafeName) {
		return nil
	}
	out, err := s.look(ctx, "", "ls-files", "-z", "-t", "-o", "--exclude-standard")
	if first, _, left := strings.Cut(s.withoutLaid(string(out)), "\x00"); err == nil && left {
		first = strings.TrimPrefix(first, "? ")
		return &ContentError{Why: fmt.Sprintf("git cannot store a file named %q: rename it", first)}
	}
	return err
}

func (s *Slot) updateIndex(ctx context.Context, paths []string, flags ...string) error {
	if len(paths) == 0 {
		return nil
	}
	in := strings.Join(paths, "\x00") + "\x00"
	at := s.at()
	at.Packed = len(paths) >= manyFiles
	_, err := s.lookAt(ctx, at, in, append(append([]string{"update-index", "-z"}, flags...), "--stdin")...)
	return err
}
