package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"divisi/internal/git"
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
	tree, d, err := s.draft(ctx)
	if err != nil {
		return nil, nil, err
	}
	p := &spec.Patch{Base: base, Tree: tree}
	if p.Commit, err = d.CommitTree(tree, []string{base}, message, author, author, at); err != nil {
		return nil, nil, err
	}
	changes, pack, err := s.pack(ctx, d, p)
	if err != nil || len(changes) == 0 {
		return nil, nil, err
	}
	for _, c := range changes {
		may := spec.WriteSet{}.Refuse
		if c.OldMode == git.ModeNone {
			may, p.Created = spec.WriteSet{}.RefuseNew, append(p.Created, c.Path)
		}
		if why := may(c.Path); why != "" {
			return nil, nil, &ContentError{Why: "no patch may hold the file " + why + ": rename it"}
		}
		p.Files = append(p.Files, c.Path)
	}
	names, err := s.repo.Names(ctx, base, tree)
	if err == nil && len(names.Bad) > 0 {
		err = &ContentError{Why: "no patch may add such a name: " + names.Bad[0].String()}
	}
	if err != nil {
		return nil, nil, err
	}
	if p.Lost, err = s.lost(ctx, base, tree, changes); err != nil {
		return nil, nil, err
	}
	p.Added, p.Deleted = git.CountLines(changes)
	return p, pack, nil
}

// pack writes what the draft has, lists what the patch changes and packs it: without git where the draft has all that is new. A
// commit that turns out to be empty goes away with the next reset.
func (s *Slot) pack(ctx context.Context, d *git.Draft, p *spec.Patch) (changes []git.Change, pack []byte, err error) {
	if s.indexed == p.Base {
		pack = d.Pack()
	}
	if err = d.Flush(ctx); err == nil {
		changes, err = s.repo.Changed(ctx, p.Base, p.Tree)
	}
	if err == nil && len(changes) > 0 && pack == nil {
		pack, err = s.repo.Pack(ctx, p.Commit, p.Base)
	}
	return changes, pack, err
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

// Diff returns what differs from base in the work tree as a unified diff of at most limit bytes; cut reports that there
// was more. Errors: *ContentError, ErrNotReset.
func (s *Slot) Diff(ctx context.Context, base string, limit int) (text string, cut bool, err error) {
	return s.DiffPath(ctx, base, ".", limit)
}

// scanned is the outcome of a full scan of the work tree.
type scanned struct {
	// tracked are changed or deleted; beyond are tracked too, but a link has taken the place of their directory, or a pipe
	// or the like their own.
	tracked, beyond []string
	// removed are those of the first that are gone.
	removed []string
	// added are new files.
	added []string
	// staged is the difference between the index of commands and the slot's.
	staged []staged
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
		return fmt.Sprintf("the changed files have more than %d MiB: remove files that are not part of the change",
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
		case s.beyondLink(path) || info != nil && special(info.Mode()):
			r.beyond = append(r.beyond, path)
		case s.isRepository(path):
			r.nested = append(r.nested, path)
		default:
			if info == nil {
				r.removed = append(r.removed, path)
			}
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
func special(mode os.FileMode) bool { return mode&(os.ModeType&^(os.ModeDir|os.ModeSymlink)) != 0 }

func (s *Slot) isRepository(path string) bool {
	_, err := os.Lstat(filepath.Join(s.dir, filepath.FromSlash(path), ".git"))
	return err == nil
}
