package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"divisi/internal/git"
	"divisi/internal/machine"
	"divisi/internal/spec"
)

// ErrNotReset reports that a slot has no content yet, or lost it.
var ErrNotReset = errors.New("the slot was not reset to a commit")

// ContentError reports that what is in the work tree cannot become a commit: it is the attempt's to fix, and the same wherever
// it is tried.
type ContentError struct {
	// Why names the paths, or has git's own message.
	Why string
}

// Error returns why.
func (e *ContentError) Error() string { return e.Why }

// contentError distinguishes git's refusal of a tree's content from a failure of the machine. Git does not name every failure:
// where an index does not fit on the disk, it reports only that it could not write the file. So room is asked for the disk.
func contentError(err error, room func() error) error {
	var exit *git.ExitError
	if !errors.As(err, &exit) || exit.Code <= 0 || exit.Unwrap() != nil {
		return err
	}
	if full := room(); full != nil {
		return fmt.Errorf("%w: %w", full, err)
	}
	return &ContentError{Why: "git cannot take the changes in: " + err.Error()}
}

// Collect makes one commit of everything that differs from base in the work tree and packs it.
// Ignored files are left out. The same content, message, author and time give the same commit. Both results are nil when
// nothing changed; the patch's Pack is left to the caller, which stores the pack. Errors: *ContentError, ErrNotReset.
func (s *Slot) Collect(
	ctx context.Context, base, message string, author git.Ident, at time.Time,
) (*spec.Patch, []byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	patch, pack, err := s.collect(ctx, base, message, author, at)
	if err != nil {
		s.ruined = true
		return nil, nil, fmt.Errorf("collect the changes in %s: %w", s.name, err)
	}
	return patch, pack, nil
}

func (s *Slot) collect(
	ctx context.Context, base, message string, author git.Ident, at time.Time,
) (*spec.Patch, []byte, error) {
	tree, err := s.tree(ctx)
	if err != nil {
		return nil, nil, err
	}
	// Packing goes on beside the comparison; a commit that turns out to be empty goes away with the next reset.
	var changes []git.Change
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		changes, err = s.repo.Changed(inner, base, tree)
		return err
	})
	var pack []byte
	commit, err := s.repo.CommitTree(tree, []string{base}, message, author, author, at)
	if err == nil {
		pack, err = s.repo.Pack(ctx, commit, base)
	}
	if err = errors.Join(err, group.Wait()); err != nil || len(changes) == 0 {
		return nil, nil, err
	}
	p := &spec.Patch{Commit: commit, Base: base, Tree: tree}
	for _, c := range changes {
		if why := (spec.WriteSet{}).Refuse(c.Path); why != "" {
			return nil, nil, &ContentError{Why: "no patch may hold the file " + why + ": rename it"}
		}
		p.Files = append(p.Files, c.Path)
	}
	p.Added, p.Deleted = git.CountLines(changes)
	return p, pack, nil
}

// Tree returns the id of the tree that the work tree holds now, ignored files left out. It is the tree of a commit of
// Collect with the same content. Errors: *ContentError, ErrNotReset.
func (s *Slot) Tree(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tree, err := s.tree(ctx)
	if err != nil {
		return "", fmt.Errorf("hash the tree of %s: %w", s.name, err)
	}
	return tree, nil
}

// Diff returns what differs from base in the work tree as a unified diff of at most limit bytes; cut says that there
// was more. Errors: *ContentError, ErrNotReset.
func (s *Slot) Diff(ctx context.Context, base string, limit int) (text string, cut bool, err error) {
	return s.DiffPath(ctx, base, ".", limit)
}

// tree takes all changes into the index and writes its tree. What its owner may not read is made readable: an agent's
// chmod is no reason to lose its work.
func (s *Slot) tree(ctx context.Context) (string, error) {
	if s.repo == nil {
		return "", ErrNotReset
	}
	if info, err := os.Lstat(s.dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("the work tree %s is gone", s.dir)
	}
	id, err := s.index(ctx)
	var content *ContentError
	if err == nil || ctx.Err() != nil || errors.As(err, &content) {
		return id, err
	}
	if unlocked := errors.Join(unlock(s.dir), s.dropLock()); unlocked != nil {
		return "", errors.Join(err, unlocked)
	}
	id, err = s.index(ctx)
	return id, contentError(err, func() error { return machine.Room(s.gitDir, s.dir) })
}

// index does it once. Not by git add: in a tree with submodules that runs another git in each of them, with the settings
// that it finds there.
func (s *Slot) index(ctx context.Context) (string, error) {
	look := func(args ...string) ([]byte, error) { return s.look(ctx, "", args...) }
	found, err := s.list(look, s.touched(), "--exclude-standard")
	if err != nil {
		return "", err
	}
	scan := s.sort(found)
	if why := scan.refused(); why != "" {
		return "", &ContentError{Why: why}
	}
	if err := s.checkSubmodules(ctx); err != nil {
		return "", err
	}
	s.indexed = ""
	if err := s.updateIndex(ctx, scan.beyond, "--force-remove"); err != nil {
		return "", err
	}
	if err := s.updateIndex(ctx, append(scan.tracked, scan.added...), "--add", "--remove", "--replace"); err != nil {
		return "", err
	}
	if err := s.checkLeftOut(ctx, scan.added); err != nil {
		return "", err
	}
	out, err := s.git.Run(ctx, s.at(), nil, "write-tree")
	if err != nil {
		return "", err
	}
	s.indexed = strings.TrimSpace(string(out))
	return s.indexed, nil
}

// plain reports whether git surely takes a file in by its name. It passes over some others, such as git~1, without a failure.
func plain(path string) bool {
	odd := func(r rune) bool { return r >= 0x7f || r < ' ' || strings.ContainsRune(`~\:`, r) }
	return !strings.Contains("/"+strings.ToLower(path), "/.git") && !strings.ContainsFunc(path, odd)
}

// checkLeftOut returns a *ContentError where git left new files out of the index because of their names.
func (s *Slot) checkLeftOut(ctx context.Context, added []string) error {
	if !slices.ContainsFunc(added, func(path string) bool { return !plain(path) }) {
		return nil
	}
	out, err := s.look(ctx, "", "ls-files", "-z", "-t", "-o", "--exclude-standard")
	if first, _, left := strings.Cut(s.withoutLaid(string(out)), "\x00"); err == nil && left {
		first = strings.TrimPrefix(first, "? ")
		return &ContentError{Why: fmt.Sprintf("git cannot store a file named %q: rename it", first)}
	}
	return err
}

// manyFiles is from how many files on their contents are taken in as one pack.
const manyFiles = 50

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

// scanned is the outcome of a full scan of the work tree.
type scanned struct {
	// tracked are changed or deleted; beyond are tracked too, but a link has taken the place of their directory, or a pipe
	// or the like their own.
	tracked, beyond []string
	// added are new files.
	added []string
	// nested are directories that are repositories.
	nested []string
	// large are files over git.MaxBlob; bytes is the size of all files that would be taken in.
	large []string
	bytes int64
}

// refused returns why no commit can be made of it, and nothing where one can: git would record a repository as a submodule
// and lose its files, and what is too large would be refused on receipt, after it had been packed and stored.
func (r *scanned) refused() string {
	switch {
	case len(r.nested) > 0:
		return fmt.Sprintf("git repositories within the work tree (%s): remove their .git", strings.Join(r.nested, ", "))
	case len(r.large) > 0:
		return fmt.Sprintf("files of more than %d MiB (%s): remove them, or list them in .gitignore", git.MaxBlob>>20,
			strings.Join(r.large, ", "))
	case r.bytes > git.MaxPatchBytes:
		return fmt.Sprintf("the changed files have more than %d MiB: remove what is not part of the change",
			git.MaxPatchBytes>>20)
	}
	return ""
}

// weigh counts a file that would be taken in.
func (r *scanned) weigh(path string, info os.FileInfo) {
	if info == nil || !info.Mode().IsRegular() {
		return
	}
	if r.bytes += info.Size(); info.Size() > git.MaxBlob {
		r.large = append(r.large, path)
	}
}

// sort reads the records "tag path\0" of ls-files -t. Tracked paths come to the index first: a file that became a
// directory must be gone before the directory's files are added.
func (s *Slot) sort(out string) scanned {
	var r scanned
	seen := map[string]bool{}
	for record := range strings.SplitSeq(out, "\x00") {
		tag, path, ok := strings.Cut(record, " ")
		if !ok || seen[path] {
			continue
		}
		seen[path] = true
		info, _ := os.Lstat(filepath.Join(s.dir, filepath.FromSlash(path))) // nil: it is deleted
		switch {
		case strings.HasSuffix(path, "/"):
			r.nested = append(r.nested, strings.TrimSuffix(path, "/"))
		case tag == "?":
			r.added = append(r.added, path)
			r.weigh(path, info)
		case s.beyondLink(path) || special(info):
			r.beyond = append(r.beyond, path)
		case s.isRepository(path):
			r.nested = append(r.nested, path)
		default:
			r.tracked = append(r.tracked, path)
			r.weigh(path, info)
		}
	}
	return r
}

// beyondLink reports whether a link is among the directories of a path.
func (s *Slot) beyondLink(path string) bool {
	for i, c := range path {
		if c != '/' {
			continue
		}
		info, err := os.Lstat(filepath.Join(s.dir, filepath.FromSlash(path[:i])))
		if err != nil {
			return false
		}
		if info.Mode()&os.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// special reports what git cannot keep: untracked it passes over such files, tracked it would fail on them.
func special(info os.FileInfo) bool {
	return info != nil && info.Mode()&(os.ModeType&^(os.ModeDir|os.ModeSymlink)) != 0
}

func (s *Slot) isRepository(path string) bool {
	_, err := os.Lstat(filepath.Join(s.dir, filepath.FromSlash(path), ".git"))
	return err == nil
}
