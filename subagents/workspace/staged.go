package workspace

import (
	"bytes"
	"cmp"
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

	"divisi/internal/git"
	"divisi/internal/text"
)

// The index of commands counts: git add stores what it does by the index that there is. Of a file that is tracked it takes in the
// changes though the file is ignored, of one that is not it does the opposite, and the ends of lines stay as the index has them.
// Git reads a copy of that index, confined, in a repository of the host's making; none of its contents are taken.

// handed was written by the last reset for the git of commands: the commit that its index holds, and the stamps of what it reads.
type handed struct {
	commit         string
	index, exclude fileStamp
}

var (
	indexFile   = path.Join(dotGit, "index")
	excludeFile = path.Join(dotGit, "info", "exclude")
)

func (s *Slot) hand(commit string) handed {
	return handed{commit, s.stampIn(indexFile), s.stampIn(excludeFile)}
}

// stampIn is the stamp of a file of the work tree; the zero one where there is none, or a link leads out to it.
func (s *Slot) stampIn(name string) fileStamp {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return fileStamp{}
	}
	defer root.Close() // a handle
	info, err := root.Lstat(filepath.FromSlash(name))
	if err != nil || !info.Mode().IsRegular() {
		return fileStamp{}
	}
	return fileStampOf(info)
}

// The most, in bytes, that an index and a list of ignored files of commands may have.
const (
	maxIndex   = 512 << 20
	maxExclude = 1 << 20
)

// staged is a file's entry in the index of commands where it differs from the slot's own; without an id it has no entry. added
// reports whether the slot's has none.
type staged struct {
	path, mode, oid string
	added           bool
}

// applyIndex changes a scan to what the index of commands makes of it. The error is a *ContentError where that cannot be read, or
// has what no patch may hold.
func (s *Slot) applyIndex(ctx context.Context, r *scanned) error {
	if is := s.stampIn(indexFile); is == (fileStamp{}) || is == s.handed.index && s.indexed == s.handed.commit {
		return nil // without an index commands have no repository
	}
	foreign := filepath.Join(s.gitDir, "commands")
	err := s.copyIndex(foreign)
	if err == nil {
		err = s.obeyForeign(ctx, foreign, r)
	}
	return errors.Join(err, Remove(foreign))
}

// readAgain reads the index again where the last scan came to no end: a list of changes against what is left of it lacks some.
func (s *Slot) readAgain(ctx context.Context) error {
	if s.indexed != "" || s.handed.commit == "" {
		return nil
	}
	if _, err := s.git.Run(ctx, s.at(), nil, "read-tree", s.handed.commit); err != nil {
		return fmt.Errorf("read the index again: %w", err)
	}
	s.indexed = s.handed.commit
	return nil
}

// copyIndex makes a repository with the index of commands, and with the parts that it shares with earlier ones.
func (s *Slot) copyIndex(foreign string) error {
	if err := cmp.Or(Remove(foreign), s.repo.Foreign(foreign)); err != nil {
		return fmt.Errorf("make a place for the index of commands: %w", err)
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // a handle
	names := []string{indexFile}
	parts, err := os.ReadDir(filepath.Join(s.dir, dotGit))
	for _, e := range parts {
		if strings.HasPrefix(e.Name(), git.SharedIndex) {
			names = append(names, path.Join(dotGit, e.Name()))
		}
	}
	left := int64(maxIndex)
	for _, name := range names {
		var content []byte
		if err == nil {
			content, err = readBounded(root, name, left)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(foreign, path.Base(name)), content, 0o600)
		}
		left -= int64(len(content))
	}
	if err != nil {
		return fmt.Errorf("copy the index of commands: %w", err)
	}
	return nil
}

// readBounded reads a file that commands can write at any time. The error is a *ContentError where it is too large.
func readBounded(root *os.Root, name string, most int64) ([]byte, error) {
	f, info, err := openRegular(root, filepath.FromSlash(name))
	if err != nil || info == nil {
		return nil, err
	}
	defer f.Close() // it is only read
	content := bytes.Buffer{}
	if _, err = content.ReadFrom(&io.LimitedReader{R: f, N: most + 1}); err == nil && int64(content.Len()) > most {
		err = &ContentError{Why: fmt.Sprintf("%s has more than %d MiB: remove it", name, most>>20)}
	}
	return content.Bytes(), err
}

func (s *Slot) obeyForeign(ctx context.Context, foreign string, r *scanned) error {
	out, err := s.askForeign(ctx, foreign, git.ForeignArgs(s.indexed)...)
	if err != nil {
		return err
	}
	changes, err := git.ParseForeign(out)
	if err != nil {
		return &ContentError{Why: fmt.Sprintf("%s cannot be right: %s", indexFile, err)}
	}
	var entries []staged
	var untracked []string
	for _, c := range changes {
		switch there := s.holds(c.Path); {
		case c.Status == 'D' && there:
			untracked = append(untracked, c.Path)
		case c.Status == 'D' || c.Status == 'U' && c.OldMode != git.ModeNone: // what is merged is stored as what it was
		case c.NewMode == git.ModeGitlink && s.isDir(c.Path):
			return &ContentError{Why: fmt.Sprintf("%s has %q as a submodule, which a patch may not add or move: "+
				"git rm --cached it", indexFile, c.Path)}
		case !there:
		case s.laid(c.Path):
			return &ContentError{Why: fmt.Sprintf("%q is not of the repository, and %s has it: git rm --cached it", c.Path,
				indexFile)}
		default:
			entries = append(entries, staged{c.Path, c.NewMode, c.NewOID, c.OldMode == git.ModeNone})
		}
	}
	s.stage(r, entries)
	if err := s.leaveAlone(ctx, foreign, r); err != nil {
		return err
	}
	return s.untrack(ctx, r, untracked)
}

// askForeign runs a git on the index of commands, which they could write: confined, whatever the slot is.
func (s *Slot) askForeign(ctx context.Context, foreign string, args ...string) ([]byte, error) {
	out, err := s.confined(ctx, git.Dir{GitDir: foreign, WorkTree: s.dir}, "", args...)
	if exit, is := errors.AsType[*git.ExitError](err); is && exit.Unwrap() == nil {
		err = &ContentError{Why: fmt.Sprintf("%s cannot be read: %s", indexFile, text.Line(exit.Stderr))}
	}
	return out, err
}

// holds reports whether the work tree has a file or a link at a path that git would take in.
func (s *Slot) holds(name string) bool {
	info, err := os.Lstat(filepath.Join(s.dir, filepath.FromSlash(name)))
	return err == nil && !info.IsDir() && !special(info.Mode()) && !s.beyondLink(name)
}

func (s *Slot) isDir(name string) bool {
	info, err := os.Lstat(filepath.Join(s.dir, filepath.FromSlash(name)))
	return err == nil && info.IsDir() && !s.beyondLink(name)
}

// stage adds the files that the index of commands has and the slot's has not: ignored ones too.
func (s *Slot) stage(r *scanned, entries []staged) {
	had := map[string]bool{}
	for _, name := range r.added {
		had[name] = true
	}
	for _, e := range entries {
		if e.added && !had[e.path] {
			info, _ := os.Lstat(filepath.Join(s.dir, filepath.FromSlash(e.path))) // nil: it is gone since
			r.added = append(r.added, e.path)
			r.weigh(e.path, info)
		}
	}
	r.staged = append(r.staged, entries...)
}

// leaveAlone takes those changed files out of a scan that the git of commands was told to pass over.
func (s *Slot) leaveAlone(ctx context.Context, foreign string, r *scanned) error {
	if len(r.tracked) == 0 {
		return nil
	}
	out, err := s.askForeign(ctx, foreign, "ls-files", "-z", "-v")
	if err != nil {
		return err
	}
	left := map[string]bool{}
	for record := range strings.SplitSeq(string(out), "\x00") {
		tag, name, _ := strings.Cut(record, " ")
		if tag != strings.ToUpper(tag) || tag == "S" && !slices.Contains(s.lay.Shown, name) {
			left[name] = true
		}
	}
	for _, e := range r.staged {
		if left[e.path] && slices.Contains(r.tracked, e.path) {
			return &ContentError{Why: fmt.Sprintf("%s has git pass over %q, which has changed: undo that, and add it", indexFile,
				e.path)}
		}
	}
	alone := func(name string) bool { return left[name] }
	r.tracked, r.removed = slices.DeleteFunc(r.tracked, alone), slices.DeleteFunc(r.removed, alone)
	return nil
}

// untrack drops files of the work tree that the index of commands has no more. Those that are not ignored are new files.
func (s *Slot) untrack(ctx context.Context, r *scanned, names []string) error {
	if len(names) == 0 {
		return nil
	}
	ignored, _, err := s.ignored(ctx, names)
	for _, name := range names {
		if _, is := slices.BinarySearch(ignored, name); !is {
			r.staged = append(r.staged, staged{path: name})
		}
	}
	r.tracked = slices.DeleteFunc(r.tracked, func(name string) bool {
		_, is := slices.BinarySearch(ignored, name)
		return is
	})
	r.beyond = append(r.beyond, ignored...)
	return err
}

// begin has the slot's index begin with what that of commands has: git looks there for how the ends of lines are stored. What
// the slot lacks of it is returned.
func (s *Slot) begin(ctx context.Context, entries []staged) (unknown []staged, err error) {
	var ids []string
	for _, e := range entries {
		ids = append(ids, cmp.Or(e.oid, s.handed.commit)) // which is no content
	}
	has, err := s.repo.HasBlobs(ctx, ids)
	if err != nil {
		return nil, err
	}
	var lines strings.Builder
	for i, e := range entries {
		switch {
		case e.oid == "":
			fmt.Fprintf(&lines, "0 %s\t%s\x00", strings.Repeat("0", len(s.handed.commit)), e.path)
		case has[i]:
			fmt.Fprintf(&lines, "%s %s\t%s\x00", e.mode, e.oid, e.path)
		default:
			unknown = append(unknown, e)
		}
	}
	if lines.Len() > 0 {
		_, err = s.git.Run(ctx, s.at(), strings.NewReader(lines.String()), "update-index", "-z", "--replace", "--index-info")
	}
	return unknown, err
}

// settle has git store files as new ones that commands have stored otherwise than the slot, whose index has other contents, and
// returns the tree. The error is a *ContentError where it cannot be known how git would store one: it was edited since.
func (s *Slot) settle(ctx context.Context, tree string, unknown []staged) (string, error) {
	unknown, were, err := s.unlike(ctx, tree, unknown)
	if err != nil || len(unknown) == 0 {
		return tree, err
	}
	var names []string
	for _, e := range unknown {
		names = append(names, e.path)
	}
	out, err := []byte(nil), cmp.Or(s.updateIndex(ctx, names, "--force-remove"), s.updateIndex(ctx, names, "--add", "--remove"))
	if err == nil {
		out, err = s.git.Run(ctx, s.at(), nil, "write-tree")
	}
	if err != nil {
		return "", err
	}
	tree = strings.TrimSpace(string(out))
	left, are, err := s.unlike(ctx, tree, unknown)
	for i, e := range left {
		at := slices.IndexFunc(unknown, func(u staged) bool { return u.path == e.path })
		if err == nil && are[i].OID != were[at].OID {
			err = &ContentError{Why: fmt.Sprintf("git would store the ends of lines of %q by what was added of it before it "+
				"was edited: git add it once more", e.path)}
		}
	}
	return tree, err
}

// unlike are the files that a tree has with another content than the index of commands, with what it has.
func (s *Slot) unlike(ctx context.Context, tree string, entries []staged) (unlike []staged, are []git.Entry, err error) {
	var names []string
	for _, e := range entries {
		names = append(names, e.path)
	}
	found, err := s.repo.Lookup(ctx, tree, names)
	for i, is := range found {
		if is.OID != "" && is.OID != entries[i].oid {
			unlike, are = append(unlike, entries[i]), append(are, is)
		}
	}
	return unlike, are, err
}

// obeyExclude has git pass over what commands have put into their list of ignored files, until back is called.
func (s *Slot) obeyExclude() (back func() error, err error) {
	back = func() error { return nil }
	if is := s.stampIn(excludeFile); is == (fileStamp{}) || is == s.handed.exclude {
		return back, nil
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return back, fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // a handle
	theirs, err := readBounded(root, excludeFile, maxExclude)
	own := filepath.Join(s.gitDir, "info", "exclude")
	was, failed := os.ReadFile(own)
	if errors.Is(failed, fs.ErrNotExist) {
		failed = nil
	}
	if err = errors.Join(err, failed); err == nil {
		err = os.WriteFile(own, theirs, 0o644)
	}
	if err != nil {
		return back, fmt.Errorf("read the list of ignored files of commands: %w", err)
	}
	return func() error { return os.WriteFile(own, was, 0o644) }, nil
}
