package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"divisi/internal/git"
	"divisi/internal/text"
)

// Slot is one work tree with a git directory of its own. Its methods may be called from several goroutines; they take
// turns.
type Slot struct {
	pool   *Pool
	git    *git.Git
	mirror *git.Repo
	name   string
	dir    string
	gitDir string
	taken  atomic.Bool
	// shared reports whether another process may write the work tree at any moment.
	shared atomic.Bool

	mu sync.Mutex
	// repo is nil until the slot is built, and again when it is broken.
	repo *git.Repo
	// ruined is set when the tree could not be collected: the next reset rebuilds the slot.
	ruined bool
	// indexed is the commit or tree that the index holds, held the one that the work tree held when it was inspected last; empty
	// where that is not known.
	indexed, held string
	// resetAt is when the last reset began.
	resetAt time.Time
	// handed was written by the last reset for the git of commands.
	handed handed
	// known are all directories of the work tree as the last reset left them, with slashes.
	known map[string]stamp
	// converts lists git's conversions in the files of the commit in the work tree; nil where none does. written are files that
	// git takes for changed and that are as the checkout wrote them, stored those that the index has from the work tree.
	converts *git.Conversion
	written  map[string]fileStamp
	stored   []string
	// gone are tracked files that a list of ignored files names and that were missing at a look.
	gone map[string]bool
	// lay is the wanted content of the work tree, lies the present one.
	lay  Lay
	lies map[string]bool
	// stood is the commit on which the branch of commands was at the last reset.
	stood string
}

// Name returns the slot's name in its pool.
func (s *Slot) Name() string { return s.name }

// Dir returns the top of the work tree. It exists after the first Reset.
func (s *Slot) Dir() string { return s.dir }

// Objects returns the object directories that the git of commands in the work tree reads, beside the one that is in it: the
// mirror's, and that of the history. What proves has all of it, others have commits alone: old files may hold what no model
// should be sent.
func (s *Slot) Objects() []string {
	past := s.pool.past.Commits
	if s.lay.Tested {
		past = cmp.Or(s.pool.past.Whole, past)
	}
	if past == "" {
		return []string{s.mirror.Objects()}
	}
	return []string{s.mirror.Objects(), past}
}

func (s *Slot) at() git.Dir { return git.Dir{GitDir: s.gitDir, WorkTree: s.dir} }

// Reset makes the work tree hold exactly a commit of the mirror: changes, untracked and ignored files, and repositories
// within go away. No process may be working in the slot. A slot that cannot be reset, that differs from the commit afterwards, or
// that could not be collected before is rebuilt.
func (s *Slot) Reset(ctx context.Context, commit string) error {
	if !git.ValidID(commit) {
		return fmt.Errorf("reset %s to %q: %w", s.name, commit, git.ErrBadName)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var first error
	if s.repo != nil && !s.ruined {
		soon, cancel := s.soon(ctx)
		first = s.reset(soon, commit)
		if cancel(); first == nil {
			return nil
		}
		if _, content := errors.AsType[*ContentError](first); content {
			return fmt.Errorf("reset %s to %s: %w", s.name, commit, first)
		}
		s.repo = nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("reset %s to %s: %w", s.name, commit, context.Cause(ctx))
	}
	err := s.build()
	if err == nil {
		err = s.reset(ctx, commit)
	}
	if err != nil {
		s.repo = nil
		return fmt.Errorf("reset %s to %s: %w", s.name, commit, s.layError(ctx, commit, errors.Join(err, first)))
	}
	return nil
}

// soon bounds how long git reads what a command has left: some patterns of attributes keep it busy for ever.
func (s *Slot) soon(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.pool.patience, errBusy)
}

var errBusy = errors.New("git took too long to compare the work tree with its commit")

// layError distinguishes a commit that cannot be laid out from a failure of the machine: another machine would fail alike.
func (s *Slot) layError(ctx context.Context, commit string, err error) error {
	if names, asked := s.mirror.Names(ctx, s.mirror.Base(), commit); asked == nil && len(names.Bad) > 0 {
		return &ContentError{Why: "no work tree can hold it: " + names.Bad[0].String()}
	}
	said := strings.ToLower(err.Error())
	for _, errno := range []syscall.Errno{syscall.ENAMETOOLONG, syscall.EILSEQ} {
		if errors.Is(err, errno) || strings.Contains(said, ": "+errno.Error()) {
			return &ContentError{Why: "no work tree can hold it: " + text.Clip(err.Error(), text.MaxLine)}
		}
	}
	return err
}

// Drop removes all that is in the slot; the next reset builds it again. No process may be working in it.
func (s *Slot) Drop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.repo != nil {
		s.repo.Close()
	}
	s.repo = nil
	if err := errors.Join(Remove(s.dir), Remove(s.gitDir)); err != nil {
		return fmt.Errorf("drop %s: %w", s.name, err)
	}
	return nil
}

// build makes the slot again.
func (s *Slot) build() error {
	if err := errors.Join(Remove(s.dir), Remove(s.gitDir)); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(s.dir, dotGit), 0o755); err != nil {
		return err
	}
	repo, err := s.git.Borrow(s.gitDir, s.mirror)
	if err != nil {
		return err
	}
	s.repo, s.ruined, s.indexed, s.held, s.known, s.lies = repo, false, "", "", map[string]stamp{}, map[string]bool{}
	s.converts, s.written, s.stored, s.gone = nil, map[string]fileStamp{}, nil, map[string]bool{}
	return nil
}

// reset does it in a slot that is built. The tree is tidied once more with all directories writable when git cannot.
func (s *Slot) reset(ctx context.Context, commit string) error {
	if err := s.anew(ctx, commit); err != nil {
		return err
	}
	clear(s.gone)
	s.resetAt = time.Now()
	dirs, err := s.checkout(ctx, commit)
	if err != nil && ctx.Err() == nil && !s.ruined {
		if err = errors.Join(unlock(s.dir), s.dropLock()); err == nil {
			dirs, err = s.checkout(ctx, commit)
		}
	}
	if err != nil {
		return err
	}
	if err := cmp.Or(s.know(dirs), s.putLay()); err != nil {
		return err
	}
	s.indexed, s.held = commit, commit
	return cmp.Or(s.dropObjects(), s.stand(ctx, commit))
}

// checkout writes what differs where the last attempt left nothing but its change, else everything. Then it cleans first: what
// an earlier attempt left must not take part in the writing of files. It returns the directories that have changed.
func (s *Slot) checkout(ctx context.Context, commit string) ([]string, error) {
	if info, err := os.Lstat(s.dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("the work tree %s is gone", s.dir)
	}
	indexed, held := s.indexed, s.held
	s.indexed, s.held = "", ""
	if err := cmp.Or(s.tidy(s.touched()), s.unlay()); err != nil {
		return nil, err
	}
	if indexed != "" && s.move(ctx, indexed, held, commit) == nil && s.rewrite(ctx) == nil {
		if dirs, err := s.compare(ctx, commit); err == nil {
			return dirs, nil
		}
	}
	if err := s.dropStored(); err != nil {
		return nil, err
	}
	s.known = map[string]stamp{}
	for _, args := range [][]string{{"clean", "-ffdxq"}, {"read-tree", "-u", "--reset", commit}} {
		if _, err := s.git.Run(ctx, s.at(), nil, args...); err != nil {
			return nil, err
		}
	}
	return s.compare(ctx, commit)
}

// Restore puts a work tree that Reset made back to its commit where files that the commit does not ignore have changed since, and
// returns the paths of those that git shows. Ignored files stay; lists of ignored files that the commit does not have,
// repositories, and what is in the places of submodules go: git would step around what they hide. A tree that cannot be put back
// is made again.
func (s *Slot) Restore(ctx context.Context, commit string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.repo == nil {
		return nil, ErrNotReset
	}
	soon, cancel := s.soon(ctx)
	defer cancel()
	changed, err := s.restore(soon, commit)
	if err == nil {
		err = cmp.Or(s.putLay(), s.stand(soon, commit))
	}
	if err == nil || ctx.Err() != nil {
		return changed, err
	}
	if err = errors.Join(s.build(), s.reset(ctx, commit)); err != nil { // whatever was done to it
		s.repo = nil
		return nil, fmt.Errorf("restore %s: %w", s.name, err)
	}
	return changed, nil
}

func (s *Slot) restore(ctx context.Context, commit string) ([]string, error) {
	dirs := s.touched()
	if err := errors.Join(s.tidy(dirs), s.emptySubmodules(ctx)); err != nil {
		return nil, err
	}
	changed, err := s.changed(ctx, dirs, "--exclude-standard")
	if err != nil {
		return nil, err
	}
	hiding, err := s.dropNewIgnores(ctx, dirs)
	if err == nil && s.ruined {
		return changed, fmt.Errorf("restore %s: its attributes have changed", s.name)
	}
	if err != nil || len(changed) == 0 && !hiding && s.indexed == commit {
		return nil, cmp.Or(err, s.rewrite(ctx))
	}
	s.indexed, s.held = "", ""
	if err := s.dropStored(); err != nil {
		return changed, err
	}
	for _, args := range [][]string{{"read-tree", "-u", "--reset", commit}, {"clean", "-ffdq"}} {
		if _, err := s.git.Run(ctx, s.at(), nil, args...); err != nil {
			return changed, fmt.Errorf("restore %s: %w", s.name, err)
		}
	}
	left, err := s.changed(ctx, s.touched(), "--exclude-standard")
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("restore %s: %q still differs from %s", s.name, left[0], commit)
	}
	if err == nil {
		s.indexed, s.held = commit, commit
	}
	return changed, err
}

// dropNewIgnores removes every .gitignore that is not of the commit, and reports whether there was one. It can hide itself.
func (s *Slot) dropNewIgnores(ctx context.Context, dirs []string) (found bool, err error) {
	others, err := s.others(ctx, dirs)
	if err != nil || len(others) == 0 {
		return false, err
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return false, fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // a handle
	for _, name := range others {
		if path.Base(name) != ".gitignore" {
			continue
		}
		if err := root.Remove(filepath.FromSlash(name)); err != nil {
			return false, fmt.Errorf("remove %s: %w", name, err)
		}
		found = true
	}
	return found, nil
}

// others lists what lies at and below some directories and is not in the index, ignored files too.
func (s *Slot) others(ctx context.Context, dirs []string) ([]string, error) {
	if len(dirs) == 0 {
		return nil, nil
	}
	out, err := s.git.Run(ctx, s.at(), nil, append([]string{"ls-files", "-z", "-o", "--"}, dirs...)...)
	names := strings.Split(string(out), "\x00")
	return slices.DeleteFunc(names, func(name string) bool { return name == "" || s.laid(name) }), err
}

// list runs git ls-files on what differs from the index: on tracked files, and on all others at and below dirs but for what lies
// in the work tree.
func (s *Slot) list(
	ctx context.Context, look func(args ...string) ([]byte, error), dirs []string, untracked ...string,
) (string, error) {
	records, err := s.records(look, dirs, untracked...)
	if err == nil {
		records, err = s.sift(ctx, records)
	}
	return records, err
}

func (s *Slot) records(look func(args ...string) ([]byte, error), dirs []string, untracked ...string) (string, error) {
	args := []string{"ls-files", "-z", "-t", "-m", "-d"}
	others := append([]string{"ls-files", "-z", "-t", "-o"}, untracked...)
	if slices.Contains(dirs, ".") || len(dirs) > 0 && len(s.known) <= maxTouched {
		out, err := look(append(args, others[3:]...)...)
		return s.withoutLaid(string(out)), err
	}
	out, err := look(args...)
	if err != nil || len(dirs) == 0 {
		return string(out), err
	}
	more, err := look(slices.Concat(others, []string{"--"}, dirs)...)
	return string(out) + s.withoutLaid(string(more)), err
}

// changed lists what differs from the index. At and below dirs alone are files that are not in it.
func (s *Slot) changed(ctx context.Context, dirs []string, untracked ...string) ([]string, error) {
	look := func(args ...string) ([]byte, error) { return s.git.Run(ctx, s.at(), nil, args...) }
	out, err := s.list(ctx, look, dirs, untracked...)
	return pathsOf(out), err
}

// pathsOf are the paths of records "tag path\0", each once.
func pathsOf(records string) (paths []string) {
	for record := range strings.SplitSeq(records, "\x00") {
		if _, path, ok := strings.Cut(record, " "); ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// compare returns an error where the work tree differs from the commit that the index holds, ignored files and empty directories
// included, and else the directories that have changed. Places of submodules are emptied first.
func (s *Slot) compare(ctx context.Context, commit string) ([]string, error) {
	if err := s.emptySubmodules(ctx); err != nil {
		return nil, err
	}
	dirs := s.touched()
	differs, err := s.changed(ctx, dirs, "--directory")
	if err == nil && len(differs) > 0 {
		err = fmt.Errorf("the work tree differs from %s after a reset, in %q", commit, differs[0])
	}
	return dirs, err
}

// dropLock removes the lock of a git that was killed.
func (s *Slot) dropLock() error {
	return os.RemoveAll(filepath.Join(s.gitDir, "index.lock"))
}

// dropObjects deletes what earlier attempts wrote: after a reset, everything that is needed is in the mirror.
func (s *Slot) dropObjects() error {
	entries, err := os.ReadDir(s.repo.Objects())
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == "info" { // it names the mirror
			continue
		}
		if e.Name() == "pack" {
			s.repo.Close() // a git that waits has its packs open
		}
		if err := Remove(filepath.Join(s.repo.Objects(), e.Name())); err != nil {
			return err
		}
	}
	return nil
}
